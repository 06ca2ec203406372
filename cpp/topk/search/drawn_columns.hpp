// The columns of the features that a node draws, and those that its children draw if they may be split once more.
//
// The order in which a child draws follows from its class weights, before anything of it is counted; but features that
// cannot split it are passed over. So features are counted one by one in that order, until enough of them can: of many
// features most are never counted. Only the smaller child is, and the larger one is the difference. What comes out has
// the columns of the drawn features alone, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "topk/base/memory.hpp"
#include "topk/base/types.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"
#include "topk/data/node.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/score/scoring.hpp"

namespace topk {

// One per thread of execution. Children are numbered 0, the smaller, and 1, the larger one.
template <class Count>
class DrawnColumns {
  public:
    DrawnColumns(const FeatureDraw& draw, std::int64_t min_weight);

    // A node, whose columns are counted. It stays where it is meanwhile.
    void open(const Node<Count>& node);

    // Draw for the node itself.
    void take_node();

    // The children of the node on this split, the smaller one of which has these rows, which stay where they are.
    void open(const Split<Count>& split_on, const Subset& small);

    // Draw for child i, and count.
    void count(int i, Counter<Count>& counter);

    // Of the node, or of the child counted last: counts of the columns that it has drawn, in their order, and how many
    // these are, padded; the number that one of them has among all columns.
    const Counts<Count>& counts() const { return counts_; }
    std::size_t n_columns() const { return n_columns_; }
    std::int32_t column(std::size_t drawn) const;

  private:
    using Number = std::pair<std::uint64_t, std::size_t>;  // a feature's place in the order, and the feature

    void number_features();
    std::span<const Number> next_features(std::size_t n);
    void set_totals(int i);
    template <class Take>
    void draw(Take take);
    void count_features(std::span<const Number> features, Counter<Count>& counter);
    bool can_split(int i, std::size_t feature) const;
    void gather(int i);

    const FeatureDraw& draw_;
    const std::int64_t min_weight_;
    std::vector<std::size_t> first_;  // column of every feature, and one more

    const Node<Count>* node_ = nullptr;
    AlignedBuffer<Count> node_n_true_;    // per column: weight of the node's rows that are true
    std::vector<std::size_t> splitting_;  // the features that can split the node

    const Subset* small_ = nullptr;
    Count weight_[2] = {0, 0};            // of the children
    std::vector<Count> small_totals_;     // per class of the node
    AlignedBuffer<Count> small_rows_;     // per class of the node and column: of the columns that are counted
    AlignedBuffer<Count> small_n_true_;   // likewise, all classes together
    std::vector<std::uint64_t> counted_;  // per block of columns: number of the split that it was last counted for
    std::uint64_t n_splits_ = 0;

    std::vector<Number> early_, late_;  // features, of low and of high numbers
    std::size_t n_early_ = 0, n_late_ = 0;
    std::size_t n_taken_ = 0;            // of the early ones
    std::vector<std::size_t> features_;  // drawn, rising
    std::vector<ColumnRange> ranges_;
    Counts<Count> counts_;
    AlignedBuffer<Count> storage_;
    std::size_t n_columns_ = 0;
};

extern template class DrawnColumns<std::int32_t>;
extern template class DrawnColumns<std::int64_t>;

}  // namespace topk
