// Kernels for 64-bit ARM: two columns per register, popcount of bytes in one instruction.
#include <arm_neon.h>

#include "topk/kernels/common.hpp"
#include "topk/kernels/tables.hpp"

namespace topk {
namespace {

// A byte counts at most 8 per word, so 31 words can be added before it could overflow.
constexpr std::size_t kWordsPerByteSum = 31;
constexpr std::size_t kVectors = 8;  // 16 columns per pass

void count_16_columns(const std::uint64_t* bits, std::size_t stride, WordList list, std::int32_t* out) {
    uint64x2_t totals[kVectors];
    for (auto& total : totals) {
        total = vdupq_n_u64(0);
    }
    for (std::size_t begin = 0; begin < list.size; begin += kWordsPerByteSum) {
        const std::size_t end = begin + kWordsPerByteSum < list.size ? begin + kWordsPerByteSum : list.size;
        uint8x16_t bytes[kVectors];
        for (auto& sum : bytes) {
            sum = vdupq_n_u8(0);
        }
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint64_t* row = bits + list.words[i] * stride;
            const uint64x2_t mask = vdupq_n_u64(list.masks[i]);
            for (std::size_t v = 0; v < kVectors; ++v) {
                const uint64x2_t rows = vandq_u64(mask, vld1q_u64(row + 2 * v));
                bytes[v] = vaddq_u8(bytes[v], vcntq_u8(vreinterpretq_u8_u64(rows)));
            }
        }
        for (std::size_t v = 0; v < kVectors; ++v) {
            totals[v] = vaddq_u64(totals[v], vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(bytes[v]))));
        }
    }
    for (std::size_t v = 0; v < kVectors; ++v) {
        out[2 * v] = static_cast<std::int32_t>(vgetq_lane_u64(totals[v], 0));
        out[2 * v + 1] = static_cast<std::int32_t>(vgetq_lane_u64(totals[v], 1));
    }
}

void count(const std::uint64_t* bits, std::size_t stride, WordList list, std::size_t n_columns, std::int32_t* out) {
    for (std::size_t j = 0; j < n_columns; j += 2 * kVectors) {
        count_16_columns(bits + j, stride, list, out + j);
    }
}

}  // namespace

const Kernels kNeonKernels = {
    .name = "neon",
    .count = count,
    .add_product = add_product,
    .xor_fingerprints = xor_fingerprints_loop,
    .last_level = last_level,
    .block_errors = block_errors,
    .raise_bounds = raise_bounds,
    .entropy_score_keys = entropy_score_keys_loop,
    .entropy_block_bounds = entropy_block_bounds,
    .large_entropy_score_keys = large_entropy_score_keys,
    .gini_score_keys = gini_score_keys,
    .sqrt_score_keys = sqrt_score_keys,
    .count_greater = count_greater,
    .likely_keys = likely_keys,
    .sort_keys = sort_keys,
    .count_rows = count_rows,
    .compress = compress,
    .pack_flags = pack_flags_loop,
    .transpose = transpose,
    .hash_words = hash_words,
    .fill_fingerprints = fill_fingerprints,
    .fill_xlog2x = fill_xlog2x,
};

}  // namespace topk
