// The cheapest trees of the Top-k search space, not only the best one.
//
// The space: every tree of at most the depth asked for in which each inner node splits on one of its candidates, as in
// search.hpp. Any node may be a leaf; a node with a single class or no level left is one. The trees of a node are
// ordered by cost; then the leaf comes first, then ranks of candidates, then the order of the false side's trees, then
// that of the true side's. So the first tree is the one that `solve` finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "topk/base/types.hpp"

namespace topk {

struct NearOptimalRequest {
    std::size_t n = 1;   // at most this many trees
    double epsilon = 0;  // trees cost at most 1 + epsilon times the cost of the best one
    // Compare whole multiples of cost_scale only: the leaf penalty breaks ties and nothing else.
    bool errors_only = false;
    // List only the first of all trees that predict the same class for every row. Otherwise list all trees of the
    // space.
    bool distinct_predictions = true;
};

// Return the highest cost that the request allows if the best tree costs `best`, in exact arithmetic.
std::int64_t cost_limit(std::int64_t best, std::int64_t cost_scale, const NearOptimalRequest& request);

// Return the first n different trees within the limit, in order, at least one. If the time limit ends the search, they
// are marked as not complete: the first is the best tree that was found, and some of the others may be missing. All of
// them have the statistics of the whole call, without choices at the root. Throws what `solve` throws.
std::vector<Solution> near_optimal(const Data& data, const Options& options, const NearOptimalRequest& request);

}  // namespace topk
