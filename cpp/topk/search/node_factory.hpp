// Makes the nodes of a search: the root from the data, children from a node and a split.
//
// A child is made in two steps, so that most of them need only the first: opened, its rows, fingerprint and conflicts
// are known; counted, its class counts are. Only the smaller child is counted, the larger one is the difference.
#pragma once

#include <cstdint>
#include <memory>

#include "topk/base/column_map.hpp"
#include "topk/base/tree_node.hpp"
#include "topk/base/types.hpp"
#include "topk/bounds/literal_fingerprints.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"
#include "topk/data/node.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/parallel/stop.hpp"

namespace topk {

// `child` is always an array of two nodes: the smaller child, then the larger one.
template <class Count>
class NodeFactory {
  public:
    // `track_rows`: nodes count rows besides weights.
    NodeFactory(const Data& data, const Kernels& kernels, bool track_rows)
        : data_(data), columns_(data), kernels_(kernels), track_rows_(track_rows) {}

    // Identify subsets by their rows, by the literals that lead to them, or not at all.
    enum class Identity { none, rows, literals };

    // Build the matrix and count the root. Must be called once, before all other functions.
    void build_root(MatrixExtras extras, Identity identity, Counter<Count>& counter, Ticker& ticker);

    const Node<Count>& root() const { return root_; }
    const ColumnMap& columns() const { return columns_; }
    std::size_t padded_columns() const { return matrix_.n_columns; }
    bool has_planes() const { return matrix_.n_planes > 0; }

    // Split the node on any of all columns. The result is valid until the buffers are used again.
    Split<Count> split_on(const Node<Count>& node, std::int32_t column, Counter<Count>& counter,
                          SplitBuffers<Count>& buffers) const;
    // Return the path of one side of a split.
    Fingerprint path(const Node<Count>& node, std::int32_t column, bool side) const {
        return node.path ^ literal_fingerprint(column, side);
    }
    // Set what identifies and bounds the two children of a split, and the rows of the smaller one.
    void open_children(const Node<Count>& node, const Split<Count>& split_on, Counter<Count>& counter,
                       Node<Count> child[2]) const;
    // Precondition: the children are open.
    void count_children(const Node<Count>& node, const Split<Count>& split_on, Counter<Count>& counter,
                        Node<Count> child[2]) const;
    // Make the children of a split of the finished tree. `are_leaves`: they need no counts of columns.
    void grow_children(const Node<Count>& node, const Split<Count>& split_on, bool are_leaves, Counter<Count>& counter,
                       Node<Count> child[2]) const;

    // Return the node as a leaf of a finished tree, except for its cost.
    std::unique_ptr<TreeNode> leaf(const Node<Count>& node, const Counter<Count>& counter) const;

  private:
    Fingerprint row_fingerprint(const BitMatrix& matrix, const Subset& subset) const;
    Fingerprint literal_fingerprint(std::int32_t column, bool side) const;

    const Data& data_;
    const ColumnMap columns_;
    const Kernels& kernels_;
    const bool track_rows_;
    BitMatrix matrix_;
    Identity identity_ = Identity::none;
    LiteralFingerprints literals_;  // empty unless subsets are identified by them
    Node<Count> root_;
};

extern template class NodeFactory<std::int32_t>;
extern template class NodeFactory<std::int64_t>;

}  // namespace topk
