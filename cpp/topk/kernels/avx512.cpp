// Kernels for x86-64 with AVX-512 and VPOPCNTDQ: eight columns per register, popcount in one instruction.
#include <immintrin.h>

#include "topk/kernels/common.hpp"
#include "topk/kernels/tables.hpp"

namespace topk {
namespace {

template <std::size_t kVectors>
void count_block(const std::uint64_t* bits, std::size_t stride, WordList list, std::int32_t* out) {
    __m512i totals[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
        totals[v] = _mm512_setzero_si512();
    }
    for (std::size_t i = 0; i < list.size; ++i) {
        const std::uint64_t* row = bits + list.words[i] * stride;
        const __m512i mask = _mm512_set1_epi64(static_cast<long long>(list.masks[i]));
        for (std::size_t v = 0; v < kVectors; ++v) {
            const __m512i rows = _mm512_and_si512(mask, _mm512_load_si512(row + 8 * v));
            totals[v] = _mm512_add_epi64(totals[v], _mm512_popcnt_epi64(rows));
        }
    }
    for (std::size_t v = 0; v < kVectors; ++v) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(out + 8 * v), _mm512_cvtepi64_epi32(totals[v]));
    }
}

void count(const std::uint64_t* bits, std::size_t stride, WordList list, std::size_t n_columns, std::int32_t* out) {
    std::size_t j = 0;
    for (; j + 128 <= n_columns; j += 128) {
        count_block<16>(bits + j, stride, list, out + j);
    }
    switch ((n_columns - j) / 16) {
        case 1:
            return count_block<2>(bits + j, stride, list, out + j);
        case 2:
            return count_block<4>(bits + j, stride, list, out + j);
        case 3:
            return count_block<6>(bits + j, stride, list, out + j);
        case 4:
            return count_block<8>(bits + j, stride, list, out + j);
        case 5:
            return count_block<10>(bits + j, stride, list, out + j);
        case 6:
            return count_block<12>(bits + j, stride, list, out + j);
        case 7:
            return count_block<14>(bits + j, stride, list, out + j);
        default:
            return;
    }
}

Fingerprint xor_fingerprints(const std::uint64_t* low, const std::uint64_t* high, WordList list) {
    __m512i low_sum = _mm512_setzero_si512();
    __m512i high_sum = _mm512_setzero_si512();
    for (std::size_t i = 0; i < list.size; ++i) {
        const std::size_t first = std::size_t{list.words[i]} * 64;
        for (std::size_t r = 0; r < 64; r += 8) {
            const auto rows = static_cast<__mmask8>(list.masks[i] >> r);
            low_sum = _mm512_mask_xor_epi64(low_sum, rows, low_sum, _mm512_load_si512(low + first + r));
            high_sum = _mm512_mask_xor_epi64(high_sum, rows, high_sum, _mm512_load_si512(high + first + r));
        }
    }
    alignas(64) std::uint64_t lanes[16];
    _mm512_store_si512(lanes, low_sum);
    _mm512_store_si512(lanes + 8, high_sum);
    Fingerprint sum;
    for (int i = 0; i < 8; ++i) {
        sum.low ^= lanes[i];
        sum.high ^= lanes[8 + i];
    }
    return sum;
}

inline __m512i lookup(const std::int64_t* table, __m256i index) { return _mm512_i32gather_epi64(index, table, 8); }

void entropy_score_keys(const CountTable& t, const EntropyTable& e, std::int32_t min_side, std::size_t n_columns,
                        ScoreKey* keys) {
    std::int32_t weight = 0;
    for (std::size_t c = 0; c < t.n_classes; ++c) {
        weight += t.totals[c];
    }
    const __m256i weights = _mm256_set1_epi32(weight);
    const __m256i below_min = _mm256_set1_epi32(min_side - 1);
    const __m512i half = _mm512_set1_epi64(std::int64_t{1} << (kRoundBits - 1));
    const __m512i no_key = _mm512_set1_epi64(kNoScoreKey);
    for (std::size_t j = 0; j < n_columns; j += 8) {
        __m512i gain = _mm512_set1_epi64(-e.whole);
        __m256i n_true = _mm256_setzero_si256();
        for (std::size_t c = 0; c < t.n_classes; ++c) {
            const __m256i count = _mm256_load_si256(reinterpret_cast<const __m256i*>(t.rows[c] + j));
            const __m256i n_false = _mm256_sub_epi32(_mm256_set1_epi32(t.totals[c]), count);
            n_true = _mm256_add_epi32(n_true, count);
            gain = _mm512_add_epi64(gain, lookup(e.xlog2x, count));
            gain = _mm512_add_epi64(gain, lookup(e.xlog2x, n_false));
        }
        const __m256i n_false = _mm256_sub_epi32(weights, n_true);
        gain = _mm512_sub_epi64(gain, lookup(e.xlog2x, n_true));
        gain = _mm512_sub_epi64(gain, lookup(e.xlog2x, n_false));
        const __m512i rounded = _mm512_srai_epi64(_mm512_add_epi64(gain, half), kRoundBits);
        const __m512i score = _mm512_max_epi64(rounded, _mm512_setzero_si512());
        const __m512i columns = _mm512_sub_epi64(_mm512_set1_epi64(kMaxColumns - static_cast<std::int64_t>(j)),
                                                 _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
        const __m512i packed = _mm512_or_si512(_mm512_slli_epi64(score, kColumnBits), columns);
        const __mmask8 admissible =
            _mm256_cmpgt_epi32_mask(n_true, below_min) & _mm256_cmpgt_epi32_mask(n_false, below_min);
        _mm512_store_si512(keys + j, _mm512_mask_blend_epi64(admissible, no_key, packed));
    }
}

void pack_flags(const std::uint8_t* flags, std::size_t n, std::uint64_t* out) {
    for (std::size_t j = 0; j < n; j += 64) {
        const __mmask64 within = n - j < 64 ? (__mmask64{1} << (n - j)) - 1 : ~__mmask64{0};
        const __m512i bytes = _mm512_maskz_loadu_epi8(within, flags + j);
        out[j / 64] = _mm512_test_epi8_mask(bytes, bytes);
    }
}

}  // namespace

const Kernels kAvx512Kernels = {
    .name = "avx512",
    .count = count,
    .add_product = add_product,
    .xor_fingerprints = xor_fingerprints,
    .last_level = last_level,
    .block_errors = block_errors,
    .raise_bounds = raise_bounds,
    .entropy_score_keys = entropy_score_keys,
    .entropy_block_bounds = entropy_block_bounds,
    .large_entropy_score_keys = large_entropy_score_keys,
    .gini_score_keys = gini_score_keys,
    .sqrt_score_keys = sqrt_score_keys,
    .count_greater = count_greater,
    .likely_keys = likely_keys,
    .sort_keys = sort_keys,
    .count_rows = count_rows,
    .compress = compress,
    .pack_flags = pack_flags,
    .transpose = transpose,
    .hash_words = hash_words,
    .fill_fingerprints = fill_fingerprints,
    .fill_xlog2x = fill_xlog2x,
};

}  // namespace topk
