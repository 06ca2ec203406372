// Top-k: the cheapest tree that splits every node on one of its k best-scoring columns.
//
// best(S, h), the contract of the result:
//   1. leaf(S) predicts the heaviest class; its cost is cost_scale * (weight of the others) + leaf_penalty.
//   2. If h = 0 or S has one class, the answer is leaf(S).
//   3. Candidates: the columns with at least min_rows rows and min_weight weight on both sides, by score, highest
//      first, equal scores by lower column; the first k of them. With distinct_splits, a column that divides S into
//      the same two parts as an earlier one is passed over. With a draw, only columns of drawn features count. With a
//      lookahead, more columns are listed, and the first k of them by the cost of greedy trees below are the
//      candidates.
//   4. Each candidate costs best(S_false, h-1) + best(S_true, h-1).
//   5. The answer is the cheapest of the leaf and the candidates. Ties: the leaf first, then the earlier candidate.
// The tree is unique: cache, bounds, threads, kernels and limits change the time, never the answer.
#pragma once

#include "topk/base/types.hpp"

namespace topk {

// Find the tree. Throws std::invalid_argument for invalid data or options, and whatever the callbacks or user_score
// throw.
Solution solve(const Data& data, const Options& options);

}  // namespace topk
