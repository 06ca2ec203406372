// The columns of the features that a node draws, or that its children draw if they may be split once more.
//
// The order in which a child draws features follows from its class weights, before any of its columns is counted; but
// features that cannot split it are passed over. So features are counted in that order until enough of them can split
// the child, and most of many features are never counted. Only the smaller child is counted; the larger one is the
// difference. The result has the columns of the drawn features only, one after the other.
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
    DrawnColumns(const Objective& objective, std::int64_t min_weight);

    // Open a node. Preconditions: its columns are counted, and it is not moved while its children are open.
    void open(const Node<Count>& node);

    // Draw for the node itself.
    void take_node();

    // Open the children of the node on this split. `small`: the rows of the smaller child; must not be moved meanwhile.
    void open(const Split<Count>& split_on, const Subset& small);

    // Draw for child i of the open split, and count what it draws.
    void count(int i, Counter<Count>& counter);

    // For the node, or the child counted last: the counts of the columns that it has drawn, in ascending order; their
    // number, padded; and the index of one of them among all columns.
    const Counts<Count>& counts() const { return counts_; }
    std::size_t n_columns() const { return n_columns_; }
    std::int32_t column(std::size_t drawn) const;
    // As in Objective, for these columns.
    std::span<const std::int32_t> second_reading() const { return drawn_readings_; }

  private:
    using Number = std::pair<std::uint64_t, std::size_t>;  // a feature's random number, and the feature

    void number_features();
    std::span<const Number> next_features(std::size_t n);
    void set_totals(int i);
    template <class Take>
    void draw(Take take);
    void count_features(std::span<const Number> features, Counter<Count>& counter);
    bool can_split(int i, std::size_t feature) const;
    void gather(int i);

    const FeatureDraw& draw_;
    const std::vector<std::int32_t>& second_reading_;
    const std::int64_t min_weight_;
    std::vector<std::size_t> first_;  // first column of every feature, and the number of columns

    const Node<Count>* node_ = nullptr;
    AlignedBuffer<Count> node_n_true_;    // per column: weight of the node's rows that are true
    std::vector<std::size_t> splitting_;  // the features that can split the node

    const Subset* small_ = nullptr;
    Count weight_[2] = {0, 0};            // of the children
    std::vector<Count> small_totals_;     // per class of the node
    AlignedBuffer<Count> small_rows_;     // per class of the node and column; valid for counted blocks
    AlignedBuffer<Count> small_n_true_;   // the same, summed over the classes
    std::vector<std::uint64_t> counted_;  // per block of columns: the number of the last split it was counted for
    std::uint64_t n_splits_ = 0;

    std::vector<Number> early_, late_;  // features with low and with high numbers
    std::size_t n_early_ = 0, n_late_ = 0;
    std::size_t n_taken_ = 0;            // of the early ones
    std::vector<std::size_t> features_;  // drawn, ascending
    std::vector<ColumnRange> ranges_;
    Counts<Count> counts_;
    AlignedBuffer<Count> storage_;
    std::vector<std::int32_t> drawn_readings_;
    std::size_t n_columns_ = 0;
};

extern template class DrawnColumns<std::int32_t>;
extern template class DrawnColumns<std::int64_t>;

}  // namespace topk
