// Lowers the cost of a finished tree: a local search over its splits.
//
// The bottom subtrees, those of a given height, become the best of all their columns allow. Above them, one split after
// the other is replaced by the thresholds that score best, with new subtrees below them, and by those that suit the
// subtrees that are there: they send the most rows to the side that gets them right. What costs less is kept, until
// nothing does. The result depends on nothing but the tree and the data.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "topk/base/tree_node.hpp"
#include "topk/data/row_source.hpp"
#include "topk/search/node_search.hpp"
#include "topk/search/tree_reader.hpp"

namespace topk {

template <class Count>
class Refinement {
  public:
    using Space = Workspace<Count>;

    // Preconditions: a pass has begun whose last `bottom` levels try all columns; not all levels are among them.
    // `nodes` and `reader` outlive this object.
    Refinement(NodeSearch<Count>& nodes, TreeReader<Count>& reader, int bottom);

    // Replace parts of the tree of the root, trying at most so many columns of a node of either kind. If Stopped is
    // thrown, the tree is complete, and costs no more than before.
    void improve(Space& space, std::size_t n_tries, std::unique_ptr<TreeNode>& tree);

  private:
    using Rows = std::vector<std::uint32_t>;  // the caller's
    using Sides = std::array<Rows, 2>;        // where a column is false, where it is true
    // A node above the bottom subtrees, and its rows. The node outlives it.
    struct Part {
        const Node<Count>* node;
        Rows rows;
    };
    using Choice = std::pair<std::int64_t, std::int32_t>;  // a column, after a number that is low if it is promising
    struct Sweep;

    bool is_bottom(int level) const { return context_.plan.height(level) <= bottom_; }
    bool is_true(std::uint32_t row, const ColumnPlace& place) const;
    std::int64_t weight(std::uint32_t row) const;
    Sides divide(const Rows& rows, std::int32_t column) const;
    bool is_admissible(const Sides& sides) const;

    void improve(Space& space, int level, const Part& part, std::unique_ptr<TreeNode>& tree);
    void improve_children(Space& space, int level, const Part& part, TreeNode& tree);
    void try_scores(Space& space, int level, const Part& part, std::unique_ptr<TreeNode>& tree);
    bool try_routes(Space& space, int level, const Part& part, std::unique_ptr<TreeNode>& tree);
    // Return the most promising columns, the best first: by score, or by what they send to the wrong subtree of `tree`.
    std::vector<Choice> choices(Space& space, const Part& part, const TreeNode* tree) const;
    // Add the weight of each of some rows that the tree gets wrong, times `sign`, to its sum. Returns all of it.
    std::int64_t add_wrong(const Rows& rows, const std::vector<std::uint32_t>& some, const TreeNode& tree, int sign,
                           std::vector<std::int64_t>& sums) const;
    void sweep_group(Space& space, const Part& part, std::size_t g, Sweep& sweep, std::vector<Choice>& choices) const;
    void sweep_bits(Space& space, const Part& part, const Sweep& sweep, std::vector<Choice>& choices) const;

    // Return a tree whose upper splits are those of `like`, or null if it costs at least the budget.
    std::unique_ptr<TreeNode> rerouted(Space& space, int level, const Node<Count>& node, Rows rows,
                                       const TreeNode& like, std::int64_t budget);
    std::unique_ptr<TreeNode> split_like(Space& space, int level, const Part& part, std::int32_t column,
                                         const TreeNode* const like[2], std::int64_t budget);

    NodeSearch<Count>& nodes_;
    TreeReader<Count>& reader_;
    SearchContext<Count>& context_;
    const int bottom_;
    const RowSource source_;
    std::size_t n_tries_ = 0;
};

extern template class Refinement<std::int32_t>;
extern template class Refinement<std::int64_t>;

}  // namespace topk
