// The two children of a node that may be split once more: their costs follow from counts, without nodes of their own.
//
// Only the smaller child is counted. From its counts and the parent's follow the errors of both children for every
// column; the fewest over all columns bound those over the k best from below, and mostly settle the matter. Where nodes
// draw features, only those that the children draw are counted; see drawn_columns.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "topk/base/memory.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"
#include "topk/data/node.hpp"
#include "topk/score/scoring.hpp"
#include "topk/search/drawn_columns.hpp"

namespace topk {

// What a split must leave on both sides.
struct SideLimits {
    std::int64_t min_weight;
    std::int64_t min_rows;  // checked only if track_rows
    bool track_rows;        // rows and weights differ, and both matter
};

SideLimits side_limits(const Data& data, const Objective& objective);

// One per thread of execution. Children are numbered 0, the smaller, and 1, the larger one.
template <class Count>
class LastLevel {
  public:
    // drawn: null if all columns are to be counted.
    LastLevel(const Kernels& kernels, const Scorer& scorer, SideLimits limits, bool distinct, std::size_t n_columns,
              DrawnColumns<Count>* drawn = nullptr)
        : kernels_(kernels),
          scorer_(scorer),
          limits_(limits),
          distinct_(distinct),
          n_columns_(n_columns),
          drawn_(drawn) {}

    // Whether only features that the children draw are counted.
    bool draws() const { return drawn_ != nullptr; }

    // The children of this node follow. It stays where it is meanwhile.
    void begin(const Node<Count>& node);

    // Errors of the node itself with the best of all columns; numeric max if it cannot be split. Not with track_rows.
    Count fewest_errors(const Node<Count>& node) { return fewest_errors(node.counts, node.matrix->n_columns); }

    // Count the smaller children of the splits on these columns, all in one pass over the rows, for the calls of
    // count() that follow. For nodes whose rows do not fit the cache: fetching them takes longer than counting.
    void count_ahead(const Node<Count>& node, std::span<const std::int32_t> columns, Counter<Count>& counter);
    bool is_ahead(std::int32_t column) const {
        return std::find(ahead_columns_.begin(), ahead_columns_.end(), column) != ahead_columns_.end();
    }

    // Take the children of `node` on this split. Returns the conflicts of the smaller one.
    Count open(const Node<Count>& node, const Split<Count>& split_on, Counter<Count>& counter);

    // Count them. fewest[i]: errors of child i with the best of all columns; numeric max if it cannot be split. Not if
    // draws().
    void count(const Node<Count>& node, const Split<Count>& split_on, Counter<Count>& counter, Count fewest[2]);

    // Errors of child i with the best of its k best-scoring columns, given fewest[i].
    Count best_of_k(const Node<Count>& node, const Split<Count>& split_on, int i, std::size_t k, Count fewest,
                    Ticker& ticker);

    // If draws(): take child i of the split that open() was called for, and count it. Errors with the best of the
    // columns that it draws; numeric max if it cannot be split.
    Count count_drawn(int i, Counter<Count>& counter);

    // Errors of that child with the best of the k best-scoring columns that it draws.
    Count best_of_k_drawn(std::size_t k, Count fewest, Ticker& ticker);

    // Counts of the smaller child, per class of the node; null for the classes it does not have. Not if draws().
    std::span<const Count* const> small_rows() const { return small_rows_; }

  private:
    void count_small(const Node<Count>& node, const Split<Count>& split_on, Counter<Count>& counter);
    void errors(const Counts<Count>& counts, std::size_t n_columns, Count fewest[2]);
    bool fast_errors(const Counts<Count>& counts, std::size_t n_columns, Count fewest[2]);
    void slow_errors(const Counts<Count>& counts, std::size_t n_columns, Count fewest[2]);
    void drop_small_sides(const Counts<Count>& counts, std::size_t n_columns);
    Count fewest_errors(const Counts<Count>& counts, std::size_t n_columns);
    const Counts<Count>& child_counts(const Node<Count>& node, int i);
    std::optional<Count> best_by_rank(const Count* errors, std::size_t n_columns, std::size_t k, Count fewest) const;
    Count best_of_selected(const Count* errors, std::size_t n_columns, std::size_t k);

    const Kernels& kernels_;
    const Scorer& scorer_;
    const SideLimits limits_;
    const bool distinct_;  // columns that split the rows alike count as one
    const std::size_t n_columns_;
    DrawnColumns<Count>* const drawn_;

    Subset small_;
    AlignedBuffer<Count> storage_;
    std::vector<std::int32_t> ahead_columns_;  // counted ahead
    AlignedBuffer<Count> ahead_storage_;       // per column counted ahead and class: n_columns counts
    std::vector<const Count*> small_rows_;     // per class of the parent; null if the child does not have it
    std::vector<Count> small_totals_;          // likewise
    AlignedBuffer<std::int32_t> small_n_true_;
    std::int64_t small_n_rows_ = 0;
    AlignedBuffer<Count> errors_[2];  // per column; numeric max if the column cannot split the child
    Counts<Count> small_counts_;
    Node<Count> large_;
    AlignedBuffer<ScoreKey> keys_;
    std::vector<ScoreKey> sorted_keys_;
};

extern template class LastLevel<std::int32_t>;
extern template class LastLevel<std::int64_t>;

}  // namespace topk
