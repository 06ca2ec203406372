// A score and its column in one integer: the order of the keys is the order of the candidates.
//
// A key has the rounded score in its high bits and the complement of the column index in its low ones, so that a higher
// score wins and equal scores go to the lower column. Gains are fixed point and rounded before they are compared:
// copies, complements and permuted classes tie exactly, and sums that are equal in mathematics but differ in the last
// bits of their terms nearly always do. Gain ratios are rounded to 2^-32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace topk {

using ScoreKey = std::int64_t;

inline constexpr int kFixedPointBits = 44;
inline constexpr int kRoundBits = 12;
inline constexpr int kRatioBits = 32;
inline constexpr int kColumnBits = 24;
inline constexpr std::int64_t kMaxColumns = (std::int64_t{1} << kColumnBits) - 1;
inline constexpr ScoreKey kNoScoreKey = -1;  // of a column that cannot be a candidate; below every other key

// The functions are `static` for the reason that kernels/common.hpp gives.
static inline std::int64_t round_gain(std::int64_t gain) {
    const std::int64_t rounded = (gain + (std::int64_t{1} << (kRoundBits - 1))) >> kRoundBits;
    return rounded > 0 ? rounded : 0;
}

// score >= 0, column < kMaxColumns.
static inline ScoreKey make_score_key(std::int64_t score, std::size_t column) {
    return (score << kColumnBits) | (kMaxColumns - static_cast<std::int64_t>(column));
}

static inline std::int64_t score_of(ScoreKey key) { return key >> kColumnBits; }

static inline std::int32_t column_of(ScoreKey key) {
    return static_cast<std::int32_t>(kMaxColumns - (key & kMaxColumns));
}

}  // namespace topk
