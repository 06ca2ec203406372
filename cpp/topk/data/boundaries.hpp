// Where the classes change along one feature: thresholds worth having, found from class counts alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace topk {

// Weight per class in each of the cells between edges, (n_edges + 1, n_classes). edges: ascending; a value is above as
// many of them as are below it. NaN are left out. row_weight: empty, or one weight per value.
std::vector<double> class_cells(std::span<const double> values, std::span<const double> edges,
                                std::span<const std::int32_t> classes, std::size_t n_classes,
                                std::span<const double> row_weight);

// Indices of edges in the order in which a best-first tree on this one feature splits there, by Gini gain: at most `n`,
// fewer where the classes are pure. cells: those of class_cells. Only sums, products and quotients: the same on every
// machine.
std::vector<std::int64_t> split_order(std::span<const double> cells, std::size_t n_classes, std::size_t n);

}  // namespace topk
