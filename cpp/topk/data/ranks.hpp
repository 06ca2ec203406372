// The values of a feature as ranks: what an OrderedGroup is made of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "topk/base/memory.hpp"

namespace topk {

struct Ranks {
    std::size_t n = 0;      // the number of distinct values
    bool are_whole = true;  // are all values whole numbers below 2^53?
};

// Ranks the values of one feature after the other, in memory that it keeps until its end.
class Ranker {
  public:
    struct Entry {
        std::uint32_t bits;  // those that are sorted by
        std::uint32_t row;
    };

    // Write the rank of each of n values, `stride` apart, among the distinct values to `ranks` (n): 0 for the lowest,
    // and OrderedGroup::kMissing for NaN. Zeros are equal whatever their sign; an infinity equals the largest finite
    // number of its sign. Throws std::invalid_argument for 2^31 values or more.
    Ranks rank(const double* values, std::size_t n, std::ptrdiff_t stride, std::uint32_t* ranks);

  private:
    AlignedBuffer<double> values_;
    AlignedBuffer<Entry> entries_;  // twice as many as values
};

}  // namespace topk
