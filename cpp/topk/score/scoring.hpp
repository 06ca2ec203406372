// Scores of columns from class counts, as keys whose order is the order of the candidates.
//
// All criteria are computed in fixed point from integer counts, term by term, so that a column, its copy and its
// complement score the same bits on every machine; see scoring_keys.hpp for the rounding and the key.
#pragma once

#include <cstdint>
#include <vector>

#include "topk/base/score_key.hpp"
#include "topk/base/types.hpp"
#include "topk/kernels/kernels.hpp"

namespace topk {

// Weighted class counts of one subset over all columns. Rows and totals are per class present, in class order.
template <class Count>
struct Counts {
    std::vector<const Count*> rows;  // each n_columns (padded): weight of the true rows of the class
    std::vector<Count> totals;       // weight of the class
    std::vector<std::int32_t> class_index;
    const std::int32_t* n_true = nullptr;  // rows per column, where they differ from the weights and matter
    std::int64_t n_rows = 0;               // of the subset; used with n_true
};

// n * log2(n) in fixed point of `unit` units, the same bits as in the Python reference.
std::int64_t xlog2x(std::int64_t n, double unit);

class Scorer {
  public:
    // min_side: weight that both sides of a candidate must have.
    Scorer(const Options& options, std::size_t n_columns, std::int32_t n_classes, std::int64_t total_weight,
           std::int64_t min_side, const Kernels& kernels);

    // What a call of keys() costs, in the units of Ticker::tick. The user's function may take any time.
    std::size_t work(std::size_t n_classes) const;

    // Whether columns that split the rows alike score alike.
    bool is_symmetric() const { return options_.criterion != Criterion::user; }

    // Fills keys[0 .. padded columns): kNoKey for columns that cannot be candidates, or whose features are not drawn.
    void keys(const Counts<std::int32_t>& counts, std::size_t padded_columns, std::int64_t* keys) const;
    void keys(const Counts<std::int64_t>& counts, std::size_t padded_columns, std::int64_t* keys) const;

    // Likewise, nothing being drawn; also of fewer columns than there are, but not with the user's criterion.
    void all_keys(const Counts<std::int32_t>& counts, std::size_t padded_columns, std::int64_t* keys) const;
    void all_keys(const Counts<std::int64_t>& counts, std::size_t padded_columns, std::int64_t* keys) const {
        slow_keys(counts, padded_columns, keys);
    }

  private:
    template <class Count>
    void draw(const Counts<Count>& counts, std::int64_t* keys) const;
    template <class Count>
    void slow_keys(const Counts<Count>& counts, std::size_t padded_columns, std::int64_t* keys) const;
    template <class Count>
    void user_keys(const Counts<Count>& counts, std::int64_t* keys) const;
    template <class Count>
    bool has_rows(const Counts<Count>& counts, std::size_t column) const;  // enough on both sides; needs n_true
    template <class Count>
    bool admissible(const Counts<Count>& counts, std::size_t column, std::int64_t true_weight,
                    std::int64_t false_weight) const;
    std::int64_t term(std::int64_t n) const;  // xlog2x, by table where possible
    std::int64_t side(const std::int64_t* counts, std::size_t n_classes, std::int64_t total) const;
    std::int64_t score(std::int64_t gain, std::int64_t total, std::int64_t n_true) const;

    const Options& options_;
    const Kernels& kernels_;
    std::size_t n_columns_;
    std::int32_t n_classes_;
    std::int64_t min_side_;
    double unit_;
    std::vector<std::int64_t> table_;  // xlog2x(0), xlog2x(1), ...
};

}  // namespace topk
