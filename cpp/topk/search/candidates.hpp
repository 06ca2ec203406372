// The columns that a node tries: the first k by key, or the first k that split its rows differently.
//
// Copies, complements and thresholds without rows between them split the rows of a node in the same way. They have
// equal or mirrored class counts, which is what is looked at first; only then are the rows compared, so the answer is
// exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "topk/data/bit_matrix.hpp"
#include "topk/score/scoring.hpp"

namespace topk {

// The rows of a subset; or those of them that are on one side of a column.
struct RowSet {
    const BitMatrix& matrix;
    const Subset& subset;
    bool is_side = false;
    std::size_t column = 0;
    bool side = false;
};

// Whether the two columns divide the rows into the same two parts, whichever is the true one.
bool split_alike(const RowSet& rows, std::size_t a, std::size_t b);

// The k best of the keys that belong to candidates, best first.
void best_keys(const ScoreKey* keys, std::size_t n_columns, std::size_t k, std::vector<ScoreKey>& best);

// Likewise, but of columns that split the rows alike only the first counts. `counts` are those of the rows.
// `equal_scores`: columns that split the rows alike have equal scores, which criteria of the user's own need not give.
template <class Count>
void best_distinct_keys(const ScoreKey* keys, std::size_t n_columns, std::size_t k, const Counts<Count>& counts,
                        const RowSet& rows, bool equal_scores, std::vector<ScoreKey>& best);

extern template void best_distinct_keys(const std::int64_t*, std::size_t, std::size_t, const Counts<std::int32_t>&,
                                        const RowSet&, bool, std::vector<std::int64_t>&);
extern template void best_distinct_keys(const std::int64_t*, std::size_t, std::size_t, const Counts<std::int64_t>&,
                                        const RowSet&, bool, std::vector<std::int64_t>&);

}  // namespace topk
