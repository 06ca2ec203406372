// The fewest errors of the two children of a split, where some columns are thresholds of ordered groups.
//
// The columns of the matrix are counted as in last_level.hpp. For the thresholds inside a block of the grid, the counts
// at its two ends give a lower bound of the errors: a class has at most as many rows on the left as at the end of the
// block, and on the right as at its beginning. Blocks are looked at, most promising first, while the bound matters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "topk/base/column_map.hpp"
#include "topk/base/memory.hpp"
#include "topk/candidates/last_level.hpp"
#include "topk/candidates/ordered_ranking.hpp"
#include "topk/candidates/ordered_view.hpp"
#include "topk/data/counting.hpp"
#include "topk/data/node.hpp"
#include "topk/parallel/stop.hpp"

namespace topk {

// One per thread of execution. Child 0 is the smaller one, child 1 the larger one, as in LastLevel. Errors are numeric
// max if no column can split the child.
template <class Count>
class OrderedLast {
  public:
    // All arguments must outlive this object.
    OrderedLast(const Data& data, const ColumnMap& columns, const Kernels& kernels, const Scorer& scorer,
                SideLimits limits, const Objective& objective, LastLevel<Count>& last)
        : data_(data),
          kernels_(kernels),
          distinct_(objective.distinct_splits),
          last_(last),
          ranking_{{data, columns, objective, scorer, limits}, {data, columns, objective, scorer, limits}},
          view_{{data, limits}, {data, limits}},
          settle_(scorer) {}

    // Begin with the children of this split. `false_counts`: as in LastLevel::take(), or null; then they must be open
    // in `last`.
    void open(const Node<Count>& node, const Split<Count>& split_on, const Count* false_counts,
              Counter<Count>& counter);

    // Return a lower bound of the fewest errors of child i split once more; exact if nothing is open.
    Count low(int i) const { return std::min(fewest_[i], lowest_[i]); }
    // List the blocks of child i that may have fewer errors than its columns, for refine().
    void list_blocks(int i);
    bool is_open(int i) const { return !blocks_[i].empty(); }
    // Look at the rows of the block with the lowest bound. Precondition: is_open(i).
    void refine(int i, Ticker& ticker);

    // Begin with the children of another node.
    void begin() {
        witnesses_[0].clear();
        witnesses_[1].clear();
    }
    // Return a lower bound of the fewest errors of the k best-scoring columns of child i, `wanted` at most.
    Count bound_of_k(int i, std::size_t k, Count wanted);
    // Begin to rank the columns of child i.
    void begin_k(int i, std::size_t k, Ticker& ticker) {
        ranking_[i].begin(with_rows(i), {k, false, false, distinct_}, ticker);
    }
    // Return a lower bound of the fewest errors of its k best-scoring columns. look_closer() may raise it, and returns
    // false if it can't.
    Count low_of_k(int i) {
        return static_cast<Count>(
            std::min<std::int64_t>(ranking_[i].lowest_errors(), std::numeric_limits<Count>::max()));
    }
    bool look_closer(int i, Ticker& ticker) { return ranking_[i].look_closer(ticker); }
    // Return the fewest errors of these columns.
    Count best_of_k(int i, Ticker& ticker);
    // End the ranking of child i.
    void end_k(int i) { ranking_[i].keep(witnesses_[side(i)]); }

  private:
    struct Block {
        Count bound;
        std::uint32_t group;
        std::uint32_t block;
        Reading reading;
    };

    void bound_blocks(int i);
    Count bound_group(const Counts<Count>& counts, NestedColumns nested, Count* bounds) const;
    Count block_bound(int i, std::size_t g, std::size_t block, Reading reading);
    void take_second_reading(int i, std::size_t g);
    std::size_t side(int i) const { return (i == 0) == small_side_ ? 1 : 0; }
    RowSet rows(int i) const { return {*node_->matrix, node_->subset, column_, side(i) == 1}; }
    OrderedView<Count>& with_rows(int i);

    const Data& data_;
    const Kernels& kernels_;
    const bool distinct_;
    LastLevel<Count>& last_;
    OrderedRanking<Count> ranking_[2];
    const Node<Count>* node_ = nullptr;
    ColumnBits column_ = {nullptr, 0};
    bool small_side_ = false;
    Count fewest_[2] = {0, 0};        // of the columns that were looked at
    Count limit_[2] = {0, 0};         // errors that are too many to matter
    Count lowest_[2] = {0, 0};        // bound of all blocks that are not looked at
    std::vector<Block> blocks_[2];    // the lowest bound last
    AlignedBuffer<Count> bounds_[2];  // per column of the matrix: of the block that it ends
    OrderedView<Count> view_[2];
    bool has_rows_[2] = {false, false};
    LeftSide low_, high_;
    Witnesses<Count> settle_;
    SplitList witnesses_[2];  // per side of the splits of the node
    SplitList open_;
};

extern template class OrderedLast<std::int32_t>;
extern template class OrderedLast<std::int64_t>;

}  // namespace topk
