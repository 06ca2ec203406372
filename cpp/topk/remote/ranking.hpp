// The candidates of many nodes from their counts alone, for a search whose rows are stored elsewhere.
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
    std::span<const std::int64_t> counts;  // (n_nodes, n_classes, n_columns): weight where the column is true
    std::span<const std::int64_t> totals;  // (n_nodes, n_classes)
    std::span<const std::uint8_t> usable;  // (n_nodes, n_columns): 1 if the column may split; empty: all may
};

struct Ranked {
    // Per node: the fewest errors of a split, over all columns; numeric max if no column can split it.
    std::vector<std::int64_t> fewest;
    // (n_nodes, width): the columns by descending score, -1 after the last one, and the errors of a split there.
    std::size_t width;
    std::vector<std::int32_t> columns;
    std::vector<std::int64_t> errors;
};

// k: per node. Its candidates are ranked or, with `every_column`, all columns that could be one of more candidates.
// Of the objective, only the criterion (not the user's), min_weight and second_reading matter. limit: per node, rank it
// only if its fewest errors are below this. total_weight: that of all rows of the search. Throws std::invalid_argument.
Ranked rank_columns(const NodeCounts& nodes, const Objective& objective, std::span<const std::int64_t> k,
                    bool every_column, std::span<const std::int64_t> limit, std::int64_t total_weight,
                    const Kernels& kernels);

}  // namespace topk
