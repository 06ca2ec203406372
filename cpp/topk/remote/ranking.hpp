// The candidates of many nodes from their counts alone, for a search whose rows are somewhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topk/base/types.hpp"
#include "topk/kernels/kernels.hpp"

namespace topk {

struct NodeCounts {
    std::size_t n_nodes;
    std::size_t n_classes;
    std::size_t n_columns;
    std::span<const std::int64_t> counts;  // (n_nodes, n_classes, n_columns): weight of the rows that have a column
    std::span<const std::int64_t> totals;  // (n_nodes, n_classes)
    std::span<const std::uint8_t> usable;  // (n_nodes, n_columns): whether a column may split; empty: all may
};

struct Ranked {
    // Per node: errors with the best of all columns that can split it; numeric max if none can.
    std::vector<std::int64_t> fewest;
    // (n_nodes, k): columns from the best score on, and the errors of a split there. -1: there are no more.
    std::vector<std::int32_t> columns;
    std::vector<std::int64_t> errors;
};

// Options: the criterion, which is not the user's, and min_weight. limit: a node is ranked only if its fewest errors
// are below this. total_weight: that of all rows of the search.
Ranked rank_columns(const NodeCounts& nodes, const Options& options, std::size_t k, std::span<const std::int64_t> limit,
                    std::int64_t total_weight, const Kernels& kernels);

}  // namespace topk
