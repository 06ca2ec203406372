// The values of a feature as ranks: what an OrderedGroup is made of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace topk {

// Write the rank of every value among the distinct values to `ranks` (values.size()): 0 for the lowest, and
// OrderedGroup::kMissing for NaN. Return a row of each rank, the first one that has it. Zeros are equal whatever their
// sign; an infinity equals the largest finite number of its sign. Throws std::invalid_argument for 2^31 values or more.
std::vector<std::uint32_t> rank_values(std::span<const double> values, std::uint32_t* ranks);

}  // namespace topk
