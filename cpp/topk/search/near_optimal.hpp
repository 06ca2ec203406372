// The cheapest trees of the Top-k search space, not only the best one.
//
// The space: every tree of at most the depth asked for in which each inner node splits on one of its candidates, those
// of search.hpp. Any node may be a leaf; one that has a single class, or no level left, is one. The order of the trees
// of a node: by cost; then the leaf first, then by the rank of the candidate, then by the order of the false side's
// tree, then by that of the true side's. So the first tree is the one that `solve` finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "topk/base/types.hpp"

namespace topk {

struct NearOptimalRequest {
    std::size_t n = 1;   // trees, at most
    double epsilon = 0;  // they cost at most 1 + epsilon times what the best one does
    // Only whole multiples of cost_scale count for that: leaves break ties and nothing else.
    bool errors_only = false;
    // Of trees that predict the same class for every row only the first counts. Else all trees of the space do.
    bool distinct_predictions = true;
};

// What trees may cost if the best one costs `best`, in exact arithmetic.
std::int64_t cost_limit(std::int64_t best, std::int64_t cost_scale, const NearOptimalRequest& request);

// The first n trees that differ and keep to the limit, in order, at least one. If the time limit ends the search, they
// are not complete: the first is the best tree that was found, and of the others some may be missing. All have the
// statistics of the whole call, without choices at the root. Throws what `solve` does.
std::vector<Solution> near_optimal(const Data& data, const Options& options, const NearOptimalRequest& request);

}  // namespace topk
