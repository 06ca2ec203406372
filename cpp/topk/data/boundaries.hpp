// Thresholds where the classes change along one feature, found from class counts alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace topk {

// Return the weight per class in each of the cells between edges, (n_edges + 1, n_classes). A value belongs to cell i
// if i edges are below it; NaN belongs to none. Precondition: edges ascend. Throws std::invalid_argument unless classes
// are in [0, n_classes) and row_weight is empty or has one weight per value.
std::vector<double> class_cells(std::span<const double> values, std::span<const double> edges,
                                std::span<const std::int32_t> classes, std::size_t n_classes,
                                std::span<const double> row_weight);

// Return the indices of at most `n` edges in the order in which a best-first tree on this feature splits, by Gini gain;
// fewer if all leaves are pure by then. cells: the result of class_cells. Only sums, products and quotients are used,
// so that the order is the same on every machine. Throws std::invalid_argument without classes.
std::vector<std::int64_t> split_order(std::span<const double> cells, std::size_t n_classes, std::size_t n);

// For each pair of neighbouring values, return the decimal with the fewest places that lies between them and between
// the floats they round to; of several, the one nearest their middle. NaN if that takes more than 15 places or a number
// of 2^53 or more. Throws std::invalid_argument if the sizes differ.
std::vector<double> short_decimals(std::span<const double> low, std::span<const double> high);

// Return for each pair of neighbouring values whether a float lies strictly between those that the two round to. Throws
// std::invalid_argument.
std::vector<std::uint8_t> tell_apart(std::span<const double> low, std::span<const double> high);

}  // namespace topk
