// Kernels for x86-64 with AVX2: four columns per register, popcount by nibble lookup.
#include <immintrin.h>

#include "topk/kernels/common.hpp"
#include "topk/kernels/tables.hpp"

namespace topk {
namespace {

// A byte counts at most 8 per word, so 31 words can be added before it could overflow.
constexpr std::size_t kWordsPerByteSum = 31;
constexpr std::size_t kMostVectors = 8;  // 32 columns per pass, so that all byte sums stay in registers
// Rows that take more bytes than this come from memory or the third-level cache: they are fetched ahead, and block by
// block, so that they come once for all columns.
constexpr std::size_t kNearBytes = std::size_t{1} << 19;
constexpr std::size_t kWordsAhead = 12;
constexpr std::size_t kWordsPerBlock = 4 * kWordsPerByteSum;
constexpr std::size_t kAhead = 12;

inline __m256i popcount_bytes(__m256i x) {
    const __m256i lookup = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i nibble = _mm256_set1_epi8(0x0f);
    const __m256i low = _mm256_shuffle_epi8(lookup, _mm256_and_si256(x, nibble));
    const __m256i high = _mm256_shuffle_epi8(lookup, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
    return _mm256_add_epi8(low, high);
}

// out[j] = the counts of the list, or += if it is not the first one.
template <std::size_t kVectors, bool kFetch>
void count_columns(const std::uint64_t* bits, std::size_t stride, WordList list, bool is_first, std::int32_t* out) {
    __m256i totals[kVectors] = {};
    for (std::size_t begin = 0; begin < list.size; begin += kWordsPerByteSum) {
        const std::size_t end = begin + kWordsPerByteSum < list.size ? begin + kWordsPerByteSum : list.size;
        __m256i bytes[kVectors] = {};
        for (std::size_t i = begin; i < end; ++i) {
            const auto* row = reinterpret_cast<const __m256i*>(bits + list.words[i] * stride);
            const __m256i mask = _mm256_set1_epi64x(static_cast<long long>(list.masks[i]));
            if constexpr (kFetch) {
                const std::size_t ahead = i + kWordsAhead < list.size ? i + kWordsAhead : list.size - 1;
                const std::uint64_t* next = bits + list.words[ahead] * stride;
                for (std::size_t j = 0; j < 4 * kVectors; j += 8) {
                    _mm_prefetch(reinterpret_cast<const char*>(next + j), _MM_HINT_T0);
                }
            }
            const std::size_t ahead = i + kAhead < list.size ? i + kAhead : list.size - 1;
            const auto* next = reinterpret_cast<const char*>(bits + list.words[ahead] * stride);
            for (std::size_t v = 0; v < kVectors; v += 2) {
                _mm_prefetch(next + 32 * v, _MM_HINT_T0);
            }
            for (std::size_t v = 0; v < kVectors; ++v) {
                const __m256i rows = _mm256_and_si256(mask, _mm256_load_si256(row + v));
                bytes[v] = _mm256_add_epi8(bytes[v], popcount_bytes(rows));
            }
        }
        for (std::size_t v = 0; v < kVectors; ++v) {
            totals[v] = _mm256_add_epi64(totals[v], _mm256_sad_epu8(bytes[v], _mm256_setzero_si256()));
        }
    }
    // The lower halves of eight totals are eight counts; the shuffle works within halves of a register.
    for (std::size_t v = 0; v < kVectors; v += 2) {
        const __m256 low = _mm256_shuffle_ps(_mm256_castsi256_ps(totals[v]), _mm256_castsi256_ps(totals[v + 1]),
                                             _MM_SHUFFLE(2, 0, 2, 0));
        const __m256i counts = _mm256_permute4x64_epi64(_mm256_castps_si256(low), _MM_SHUFFLE(3, 1, 2, 0));
        auto* sums = reinterpret_cast<__m256i*>(out + 4 * v);
        _mm256_store_si256(sums, is_first ? counts : _mm256_add_epi32(counts, _mm256_load_si256(sums)));
    }
}

template <bool kFetch>
void count_block(const std::uint64_t* bits, std::size_t stride, WordList list, std::size_t n_columns, bool is_first,
                 std::int32_t* out) {
    std::size_t j = 0;
    for (; j + 4 * kMostVectors <= n_columns; j += 4 * kMostVectors) {
        count_columns<kMostVectors, kFetch>(bits + j, stride, list, is_first, out + j);
    }
    if (j < n_columns) {
        count_columns<kMostVectors / 2, kFetch>(bits + j, stride, list, is_first, out + j);
    }
}

void count(const std::uint64_t* bits, std::size_t stride, WordList list, std::size_t n_columns, std::int32_t* out) {
    if (list.size * n_columns * sizeof(std::uint64_t) <= kNearBytes) {
        count_block<false>(bits, stride, list, n_columns, true, out);
        return;
    }
    for (std::size_t begin = 0; begin < list.size; begin += kWordsPerBlock) {
        const std::size_t size = list.size - begin < kWordsPerBlock ? list.size - begin : kWordsPerBlock;
        count_block<true>(bits, stride, {list.words + begin, list.masks + begin, size}, n_columns, begin == 0, out);
    }
}

void pack_flags(const std::uint8_t* flags, std::size_t n, std::uint64_t* out) {
    const std::size_t whole = n / 64 * 64;
    for (std::size_t j = 0; j < whole; j += 64) {
        const auto bits = [&](std::size_t first) {
            const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(flags + first));
            const __m256i zeros = _mm256_cmpeq_epi8(bytes, _mm256_setzero_si256());
            return static_cast<std::uint32_t>(~_mm256_movemask_epi8(zeros));
        };
        out[j / 64] = bits(j) | std::uint64_t{bits(j + 32)} << 32;
    }
    pack_flags_loop(flags + whole, n - whole, out + whole / 64);
}

}  // namespace

const Kernels kAvx2Kernels = {
    .name = "avx2",
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
    .pack_flags = pack_flags,
    .transpose = transpose,
    .hash_words = hash_words,
    .fill_fingerprints = fill_fingerprints,
    .fill_xlog2x = fill_xlog2x,
};

}  // namespace topk
