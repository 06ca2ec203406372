// Where numbers stand among sorted ones.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace topk {

// How many of the ascending `entries` are below each of the `values`, for NaN all of them. The steps depend on the
// number of entries alone, so there is nothing for the processor to guess wrong, and those of several values overlap.
inline void rank_below(std::span<const double> entries, std::span<const double> values, std::uint32_t* ranks) {
    constexpr std::size_t kBlock = 8;
    const auto n_entries = static_cast<std::uint32_t>(entries.size());
    for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
        const std::size_t n_values = std::min(kBlock, values.size() - begin);
        std::array<double, kBlock> value = {};
        std::array<std::uint32_t, kBlock> rank = {};
        std::copy_n(values.data() + begin, n_values, value.begin());
        if (n_entries > 0) {
            for (std::uint32_t n = n_entries; n > 1;) {
                const std::uint32_t half = n / 2;
                for (std::size_t i = 0; i < kBlock; ++i) {
                    rank[i] += half & -static_cast<std::uint32_t>(!(value[i] <= entries[rank[i] + half - 1]));
                }
                n -= half;
            }
            for (std::size_t i = 0; i < kBlock; ++i) {
                rank[i] += static_cast<std::uint32_t>(!(value[i] <= entries[rank[i]]));
            }
        }
        std::copy_n(rank.begin(), n_values, ranks + begin);
    }
}

}  // namespace topk
