// Scores of columns from class counts, as keys in the order of the candidates.
//
// All criteria are computed in fixed point from integer counts, term by term, so that a column, its copy and its
// complement score the same bits on every machine; base/score_key.hpp has the rounding and the key.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topk/base/score_key.hpp"
#include "topk/base/types.hpp"
#include "topk/kernels/kernels.hpp"

namespace topk {

// Weighted class counts of one subset over all columns, for the classes that are present, in ascending order.
template <class Count>
struct Counts {
    std::vector<const Count*> rows;  // per class, n_columns (padded): weight of its rows where the column is true
    std::vector<Count> totals;       // per class: its weight
    std::vector<std::int32_t> class_index;
    const std::int32_t* n_true = nullptr;  // rows per column; only if rows and weights differ and both matter
    std::int64_t n_rows = 0;               // rows of the subset; valid only with n_true
};

// Return n * log2(n) in fixed point of `unit` units, the same bits as the Python reference.
std::int64_t xlog2x(std::int64_t n, double unit);

// What the scores of all splits of one node have in common.
struct NodeTerms {
    std::vector<std::int64_t> totals;  // per class
    std::int64_t total = 0;
    std::int64_t whole = 0;  // the criterion's value of the node as one side
};

class Scorer {
  public:
    // min_side: the weight that both sides of a candidate must have. `table_size`: numbers whose logarithms are kept.
    // The objective must outlive the scorer.
    Scorer(const Objective& objective, std::size_t n_columns, std::int32_t n_classes, std::int64_t total_weight,
           std::int64_t min_side, const Kernels& kernels, std::int64_t table_size = kTableSize);

    // Larger counts are rare (only subsets near the root of large data have them) and are computed one by one: a larger
    // table would take more time to fill than it saves.
    static constexpr std::int64_t kTableSize = std::int64_t{1} << 16;

    const Kernels& kernels() const { return kernels_; }

    // Return what a call of keys() costs, in the units of Ticker::tick. The user's function may take any time.
    std::size_t work(std::size_t n_classes) const;

    // Do columns that divide the rows into the same two parts have the same score? The user's criteria need not.
    bool is_symmetric() const { return objective_.criterion != Criterion::user; }

    // Fill keys[0 .. padded columns): kNoScoreKey for columns that cannot be candidates, whose feature is not drawn, or
    // that are the second reading of a test and score as the first.
    void keys(const Counts<std::int32_t>& counts, std::size_t padded_columns, ScoreKey* keys) const;
    void keys(const Counts<std::int64_t>& counts, std::size_t padded_columns, ScoreKey* keys) const;

    // The same without a draw and with both readings of every test. Takes counts of a part of the columns too, except
    // with the user's criterion.
    void all_keys(const Counts<std::int32_t>& counts, std::size_t padded_columns, ScoreKey* keys) const;
    void all_keys(const Counts<std::int64_t>& counts, std::size_t padded_columns, ScoreKey* keys) const {
        slow_keys(counts, padded_columns, keys);
    }

    // Set the key of a second reading to kNoScoreKey if it scores as the first, as it does without missing values in
    // the node; `second_reading` as in Objective.
    static void drop_equal_readings(std::span<const std::int32_t> second_reading, ScoreKey* keys);

    template <class Count>
    NodeTerms node_terms(const Counts<Count>& counts) const;
    // Return the score of a split, given the class weights of one side. Not for the user's criterion.
    std::int64_t split_score(const NodeTerms& node, const std::int64_t* left) const;
    // Set out[i] to a score that none of the splits in the i-th block exceeds, or to -1 if there are none, as
    // Kernels::entropy_block_bounds. Returns false if only score_bound() tells.
    bool block_bounds(const Counts<std::int32_t>& counts, const NodeTerms& node, NestedColumns nested,
                      std::int64_t* out) const;
    bool block_bounds(const Counts<std::int64_t>&, const NodeTerms&, NestedColumns, std::int64_t*) const {
        return false;
    }
    // Return a score that no split exceeds whose class weights on one side are between `low` and `high`.
    std::int64_t score_bound(const NodeTerms& node, const std::int64_t* low, const std::int64_t* high) const;

  private:
    std::int64_t entropy_bound(const NodeTerms& node, const std::int64_t* low, const std::int64_t* high) const;
    std::int64_t gini_bound(const NodeTerms& node, const std::int64_t* low, const std::int64_t* high) const;
    template <class Count>
    void draw(const Counts<Count>& counts, ScoreKey* keys) const;
    template <class Count>
    void slow_keys(const Counts<Count>& counts, std::size_t padded_columns, ScoreKey* keys) const;
    template <class Count>
    void user_keys(const Counts<Count>& counts, ScoreKey* keys) const;
    std::vector<double> call_user_score(const std::vector<double>& left, const std::vector<double>& right,
                                        const std::vector<bool>& usable) const;
    template <class Count>
    bool has_rows(const Counts<Count>& counts, std::size_t column) const;  // enough on both sides; requires n_true
    template <class Count>
    bool admissible(const Counts<Count>& counts, std::size_t column, std::int64_t true_weight,
                    std::int64_t false_weight) const;
    // xlog2x, from the table where possible.
    std::int64_t term(std::int64_t n) const {
        return n < static_cast<std::int64_t>(table_.size()) ? table_[static_cast<std::size_t>(n)] : xlog2x(n, unit_);
    }
    std::int64_t side(const std::int64_t* counts, std::size_t n_classes, std::int64_t total) const;
    std::int64_t score(std::int64_t gain, std::int64_t total, std::int64_t n_true) const;

    const Objective& objective_;
    const Kernels& kernels_;
    std::size_t n_columns_;
    std::int32_t n_classes_;
    std::int64_t min_side_;
    double unit_;
    std::vector<std::int64_t> table_;  // xlog2x(0), xlog2x(1), ...
};

}  // namespace topk
