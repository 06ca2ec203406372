// A score and its column in one integer: the order of the keys is the order of the candidates.
//
// key = rounded score in the high bits, complement of the column index in the low ones, so that a higher score wins and
// equal scores go to the lower column. Gains are fixed point, rounded before they are compared: copies, complements and
// permuted classes tie exactly, and sums that are equal in mathematics but not in the last bits of their terms nearly
// always do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace topk {

inline constexpr int kFixedPointBits = 44;
inline constexpr int kRoundBits = 12;
inline constexpr int kRatioBits = 36;
inline constexpr int kColumnBits = 24;
inline constexpr std::int64_t kMaxColumns = (std::int64_t{1} << kColumnBits) - 1;
inline constexpr std::int64_t kNoKey = -1;

static inline std::int64_t round_gain(std::int64_t gain) {
    const std::int64_t rounded = (gain + (std::int64_t{1} << (kRoundBits - 1))) >> kRoundBits;
    return rounded > 0 ? rounded : 0;
}

static inline std::int64_t pack_key(std::int64_t score, std::size_t column) {
    return (score << kColumnBits) | (kMaxColumns - static_cast<std::int64_t>(column));
}

static inline std::int64_t key_score(std::int64_t key) { return key >> kColumnBits; }

static inline std::int32_t key_column(std::int64_t key) {
    return static_cast<std::int32_t>(kMaxColumns - (key & kMaxColumns));
}

}  // namespace topk
