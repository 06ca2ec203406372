// The values of a feature as ranks: what an OrderedGroup is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace topk {

struct Ranks {
    std::size_t n = 0;      // the number of distinct values
    bool are_whole = true;  // are all values whole numbers below 2^53?
};

// Write the rank of every value among the distinct values to `ranks` (values.size()): 0 for the lowest, and
// OrderedGroup::kMissing for NaN. Zeros are equal whatever their sign; an infinity equals the largest finite number of
// its sign. Throws std::invalid_argument for 2^31 values or more.
Ranks rank_values(std::span<const double> values, std::uint32_t* ranks);

}  // namespace topk
