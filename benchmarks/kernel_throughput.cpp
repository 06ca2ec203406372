// How fast Kernels::count reads a matrix, against a bare loop `sum += popcount(x[i] & mask)` over the same bytes.
//
// In: the number of samples (9 unless told). Out: CSV with a line per kernel, cache level, number of columns and word
// list; GB/s of matrix words counted, the median of the samples. The two loops take turns. The bare loop is written
// with the same instructions as the kernel and unrolled, but knows no lists, no columns and only one sum. Time is that
// of the processor, so that other processes of a busy machine do not count.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "topk/base/memory.hpp"
#include "topk/kernels/kernels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

using namespace topk;

namespace {

constexpr std::size_t kColumns[] = {96, 112, 128, 256};
constexpr double kSampleSeconds = 2e-3;
constexpr std::size_t kUnroll = 8;  // divides n: a matrix has a multiple of kColumnPadding words

using BareLoop = std::uint64_t (*)(const std::uint64_t* x, std::size_t n, std::uint64_t mask);

inline std::uint64_t popcount_by_sums(std::uint64_t x) {
    x -= (x >> 1) & 0x5555555555555555U;
    x = (x & 0x3333333333333333U) + ((x >> 2) & 0x3333333333333333U);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fU;
    return (x * 0x0101010101010101U) >> 56;
}

std::uint64_t bare_scalar(const std::uint64_t* x, std::size_t n, std::uint64_t mask) {
    std::uint64_t sums[kUnroll] = {};
    for (std::size_t i = 0; i < n; i += kUnroll) {
        for (std::size_t u = 0; u < kUnroll; ++u) {
            sums[u] += popcount_by_sums(x[i + u] & mask);
        }
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t part : sums) {
        sum += part;
    }
    return sum;
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) std::uint64_t bare_avx2(const std::uint64_t* x, std::size_t n, std::uint64_t mask) {
    constexpr std::size_t kVectors = 4;
    constexpr std::size_t kMostSums = 31;                                                    // of bytes, each at most 8
    const __m256i lookup = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i nibble = _mm256_set1_epi8(0x0f);
    const __m256i masks = _mm256_set1_epi64x(static_cast<long long>(mask));
    __m256i sums = _mm256_setzero_si256();
    for (std::size_t i = 0; i < n;) {
        const std::size_t end = std::min(n, i + 4 * kVectors * kMostSums);
        __m256i bytes[kVectors] = {};
        for (; i < end; i += 4 * kVectors) {
            for (std::size_t v = 0; v < kVectors; ++v) {
                const auto* words = reinterpret_cast<const __m256i*>(x + i + 4 * v);
                const __m256i rows = _mm256_and_si256(masks, _mm256_load_si256(words));
                const __m256i low = _mm256_shuffle_epi8(lookup, _mm256_and_si256(rows, nibble));
                const __m256i high = _mm256_shuffle_epi8(lookup, _mm256_and_si256(_mm256_srli_epi16(rows, 4), nibble));
                bytes[v] = _mm256_add_epi8(bytes[v], _mm256_add_epi8(low, high));
            }
        }
        for (std::size_t v = 0; v < kVectors; ++v) {
            sums = _mm256_add_epi64(sums, _mm256_sad_epu8(bytes[v], _mm256_setzero_si256()));
        }
    }
    alignas(32) std::uint64_t lanes[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sums);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

__attribute__((target("avx512f,avx512vpopcntdq"))) std::uint64_t bare_avx512(const std::uint64_t* x, std::size_t n,
                                                                             std::uint64_t mask) {
    const __m512i masks = _mm512_set1_epi64(static_cast<long long>(mask));
    __m512i sums[kUnroll];
    std::fill(std::begin(sums), std::end(sums), _mm512_setzero_si512());
    std::size_t i = 0;
    for (; i + 8 * kUnroll <= n; i += 8 * kUnroll) {
        for (std::size_t u = 0; u < kUnroll; ++u) {
            const __m512i rows = _mm512_and_si512(masks, _mm512_load_si512(x + i + 8 * u));
            sums[u] = _mm512_add_epi64(sums[u], _mm512_popcnt_epi64(rows));
        }
    }
    for (; i < n; i += 8) {
        sums[0] = _mm512_add_epi64(sums[0], _mm512_popcnt_epi64(_mm512_and_si512(masks, _mm512_load_si512(x + i))));
    }
    for (std::size_t u = 1; u < kUnroll; ++u) {
        sums[0] = _mm512_add_epi64(sums[0], sums[u]);
    }
    alignas(64) std::uint64_t lanes[8];
    _mm512_store_si512(lanes, sums[0]);
    std::uint64_t sum = 0;
    for (const std::uint64_t lane : lanes) {
        sum += lane;
    }
    return sum;
}

#elif defined(__aarch64__)

std::uint64_t bare_neon(const std::uint64_t* x, std::size_t n, std::uint64_t mask) {
    constexpr std::size_t kVectors = 8;
    constexpr std::size_t kMostSums = 31;  // of bytes, each at most 8
    const uint8x16_t masks = vreinterpretq_u8_u64(vdupq_n_u64(mask));
    uint64x2_t sums = vdupq_n_u64(0);
    for (std::size_t i = 0; i < n;) {
        const std::size_t end = std::min(n, i + 2 * kVectors * kMostSums);
        uint8x16_t bytes[kVectors];
        std::fill(std::begin(bytes), std::end(bytes), vdupq_n_u8(0));
        for (; i < end; i += 2 * kVectors) {
            for (std::size_t v = 0; v < kVectors; ++v) {
                const uint8x16_t rows = vandq_u8(masks, vreinterpretq_u8_u64(vld1q_u64(x + i + 2 * v)));
                bytes[v] = vaddq_u8(bytes[v], vcntq_u8(rows));
            }
        }
        for (std::size_t v = 0; v < kVectors; ++v) {
            sums = vpadalq_u32(sums, vpaddlq_u16(vpaddlq_u8(bytes[v])));
        }
    }
    return vgetq_lane_u64(sums, 0) + vgetq_lane_u64(sums, 1);
}

#endif

BareLoop bare_loop(const std::string& kernel) {
#if defined(__x86_64__)
    if (kernel == "avx2") {
        return bare_avx2;
    }
    if (kernel == "avx512") {
        return bare_avx512;
    }
#elif defined(__aarch64__)
    if (kernel == "neon") {
        return bare_neon;
    }
#endif
    return bare_scalar;
}

class Random {
  public:
    std::uint64_t bits() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        return state_ ^= state_ << 17;
    }

  private:
    std::uint64_t state_ = 88172645463325252U;
};

struct Level {
    const char* name;
    std::size_t bytes;
};

std::size_t cache_size(int name, std::size_t otherwise) {
    const long bytes = sysconf(name);
    return bytes > 0 ? static_cast<std::size_t>(bytes) : otherwise;
}

// A size for each level that fits into it and not into the level below.
std::vector<Level> levels() {
    constexpr std::size_t kMiB = std::size_t{1} << 20;
    const std::size_t l1 = cache_size(_SC_LEVEL1_DCACHE_SIZE, kMiB / 32);
    const std::size_t l2 = cache_size(_SC_LEVEL2_CACHE_SIZE, kMiB);
    const std::size_t l3 = cache_size(_SC_LEVEL3_CACHE_SIZE, 32 * kMiB);
    const auto between = static_cast<std::size_t>(std::sqrt(static_cast<double>(l2) * static_cast<double>(l3)));
    return {{"L1", l1 / 2}, {"L2", l2 / 2}, {"L3", between}, {"DRAM", std::clamp(2 * l3, 64 * kMiB, 512 * kMiB)}};
}

struct List {
    std::vector<std::uint32_t> words;
    std::vector<std::uint64_t> masks;
    WordList view() const { return {words.data(), masks.data(), words.size()}; }
};

// All words, or each with probability one half; masks at random.
List make_list(Random& random, std::size_t n_words, bool all) {
    List list;
    for (std::size_t w = 0; w < n_words; ++w) {
        if (all || w == 0 || (random.bits() >> 40 & 1) != 0) {
            list.words.push_back(static_cast<std::uint32_t>(w));
            list.masks.push_back(random.bits() | 1);
        }
    }
    return list;
}

std::uint64_t sink = 0;

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Seconds of one call, out of as many as take kSampleSeconds.
template <class Call>
double sample(const Call& call) {
    std::size_t calls = 0;
    const double start = cpu_seconds();
    double passed = 0;
    for (std::size_t batch = 1; passed < kSampleSeconds; batch *= 2) {
        for (std::size_t i = 0; i < batch; ++i) {
            call();
        }
        calls += batch;
        passed = cpu_seconds() - start;
    }
    return passed / static_cast<double>(calls);
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void measure(const Kernels& kernels, const Level& level, const std::uint64_t* bits, std::size_t n_columns, bool all,
             std::size_t n_samples) {
    Random random;
    const std::size_t n_words = std::max<std::size_t>(2, level.bytes / 8 / n_columns);
    const List list = make_list(random, n_words, all);
    const BareLoop bare = bare_loop(kernels.name);
    AlignedBuffer<std::int32_t> counts;
    counts.ensure(n_columns);
    std::vector<double> kernel_seconds;
    std::vector<double> bare_seconds;
    for (std::size_t s = 0; s < n_samples; ++s) {
        kernel_seconds.push_back(sample([&] {
            kernels.count(bits, n_columns, list.view(), n_columns, counts.data());
            sink += static_cast<std::uint64_t>(counts[0]);
        }));
        bare_seconds.push_back(sample([&] { sink += bare(bits, n_words * n_columns, list.masks[s % 2]); }));
    }
    const auto rate = [&](std::size_t words, double seconds) {
        return 8e-9 * static_cast<double>(words * n_columns) / seconds;
    };
    std::printf("%s,%s,%zu,%zu,%s,%.4g,%.4g\n", kernels.name, level.name, 8 * n_words * n_columns, n_columns,
                all ? "all" : "half", rate(list.words.size(), median(kernel_seconds)),
                rate(n_words, median(bare_seconds)));
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t n_samples = argc > 1 ? std::max(1UL, std::strtoul(argv[1], nullptr, 10)) : 9;
    const std::vector<Level> all_levels = levels();
    AlignedBuffer<std::uint64_t> bits;
    const std::size_t n = all_levels.back().bytes / 8;
    bits.ensure(n);
    Random random;
    std::generate_n(bits.data(), n, [&] { return random.bits(); });
    std::printf("kernel,level,bytes,columns,words,kernel_gb_s,bare_gb_s\n");
    for (const Kernels* kernels : available_kernels()) {
        for (const Level& level : all_levels) {
            for (const std::size_t n_columns : kColumns) {
                measure(*kernels, level, bits.data(), n_columns, true, n_samples);
                measure(*kernels, level, bits.data(), n_columns, false, n_samples);
            }
        }
    }
    return sink == 0;  // the sums are used
}
