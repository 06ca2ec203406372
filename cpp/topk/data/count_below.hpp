// Binary search of many values at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace topk {

// For each of the `values`, count the `entries` below it; all of them for NaN. Precondition: the entries ascend. The
// number of steps depends on the number of entries alone, so that no branch is mispredicted, and the steps of eight
// values overlap.
inline void count_below(std::span<const double> entries, std::span<const double> values, std::uint32_t* counts) {
    constexpr std::size_t kBlock = 8;
    const auto n_entries = static_cast<std::uint32_t>(entries.size());
    for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
        const std::size_t n_values = std::min(kBlock, values.size() - begin);
        std::array<double, kBlock> value = {};
        std::array<std::uint32_t, kBlock> below = {};
        std::copy_n(values.data() + begin, n_values, value.begin());
        if (n_entries > 0) {
            for (std::uint32_t n = n_entries; n > 1;) {
                const std::uint32_t half = n / 2;
                for (std::size_t i = 0; i < kBlock; ++i) {
                    below[i] += half & -static_cast<std::uint32_t>(!(value[i] <= entries[below[i] + half - 1]));
                }
                n -= half;
            }
            for (std::size_t i = 0; i < kBlock; ++i) {
                below[i] += static_cast<std::uint32_t>(!(value[i] <= entries[below[i]]));
            }
        }
        std::copy_n(below.begin(), n_values, counts + begin);
    }
}

}  // namespace topk
