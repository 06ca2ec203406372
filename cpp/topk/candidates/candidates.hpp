// The columns that a node tries: the k with the best score keys, or the k best that divide its rows differently.
//
// Copies, complements and thresholds without rows between them divide the rows of a node into the same two parts. Such
// columns have equal or mirrored class counts, so counts are compared first. Rows are compared only if these agree, and
// decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topk/data/bit_matrix.hpp"
#include "topk/score/scoring.hpp"

namespace topk {

// The rows of a subset, or of one side of a column of it.
struct RowSet {
    const BitMatrix& matrix;
    const Subset& subset;
    ColumnBits column = {nullptr, 0};  // null: the whole subset
    bool side = false;
};

// Do the two columns divide the rows into the same two parts, no matter which of them is the true one?
bool split_alike(const RowSet& rows, ColumnBits a, ColumnBits b);

// How many places there are for candidates. Two readings of a test, as in Objective::second_reading, share one.
struct Places {
    std::size_t k;
    std::span<const std::int32_t> second_reading = {};
    std::span<const std::int64_t> copies = {};  // as in BitMatrix: places that a column takes
    const Kernels* kernels = nullptr;           // null: the scalar ones
};

// Return the lowest key of a candidate, at least 0. `buffer` is overwritten.
ScoreKey lowest_candidate(const ScoreKey* keys, std::size_t n_columns, Places places, std::vector<ScoreKey>& buffer);

// Select the keys of the candidates, best first, leaving out kNoScoreKey.
void best_keys(const ScoreKey* keys, std::size_t n_columns, Places places, std::vector<ScoreKey>& best);

// The same, but of columns that divide the rows alike only the first is selected. `counts`: those of the rows.
// `equal_scores`: columns that divide the rows alike have equal scores, which a user's criterion need not give.
template <class Count>
void best_distinct_keys(const ScoreKey* keys, std::size_t n_columns, Places places, const Counts<Count>& counts,
                        const RowSet& rows, bool equal_scores, std::vector<ScoreKey>& best);

// List the columns that divide the rows, except for those that divide them like the one before in the list; copies[i]:
// how many columns the i-th one stands for, itself included.
template <class Count>
void list_distinct(const Counts<Count>& counts, const RowSet& rows, std::vector<std::size_t>& list,
                   std::vector<std::int64_t>& copies);

extern template void best_distinct_keys(const std::int64_t*, std::size_t, Places, const Counts<std::int32_t>&,
                                        const RowSet&, bool, std::vector<std::int64_t>&);
extern template void best_distinct_keys(const std::int64_t*, std::size_t, Places, const Counts<std::int64_t>&,
                                        const RowSet&, bool, std::vector<std::int64_t>&);

}  // namespace topk
