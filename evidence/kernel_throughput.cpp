// How fast every kernel of the table is, against the scalar kernel and against a bare loop over the same bytes.
//
// In: the number of samples (9 unless told). Out: CSV with a line per instruction set, kernel, cache level, number of
// columns and word list; GB/s, the median of the samples. The loops take turns. The bare loop is what the memory and
// the instruction set allow: for `count`, `sum += popcount(x[i] & mask)` with the same instructions, but no lists, no
// columns and only one sum; for the others, a loop that adds up what the kernel reads and fills as many bytes as it
// writes, compiled for the same instruction set. Time is that of the processor, so that other processes of a busy
// machine do not count.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "topk/base/memory.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/score/scoring.hpp"

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
using Words = std::span<const std::uint64_t>;
using TouchLoop = std::uint64_t (*)(std::span<const Words> read, std::span<std::uint64_t> written);

// In every instruction set's own function below.
__attribute__((always_inline)) inline std::uint64_t touch(std::span<const Words> read,
                                                          std::span<std::uint64_t> written) {
    std::uint64_t sum = 0;
    for (const Words& words : read) {
        for (const std::uint64_t word : words) {
            sum += word;
        }
    }
    for (std::uint64_t& word : written) {
        word = sum;
    }
    return sum;
}

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

std::uint64_t touch_plain(std::span<const Words> read, std::span<std::uint64_t> written) {
    return touch(read, written);
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) std::uint64_t touch_avx2(std::span<const Words> read,
                                                         std::span<std::uint64_t> written) {
    return touch(read, written);
}

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) std::uint64_t touch_avx512(
    std::span<const Words> read, std::span<std::uint64_t> written) {
    return touch(read, written);
}

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

struct BareLoops {
    BareLoop count;
    TouchLoop touch;
};

BareLoops bare_loops(const std::string& isa) {
#if defined(__x86_64__)
    if (isa == "avx2") {
        return {bare_avx2, touch_avx2};
    }
    if (isa == "avx512") {
        return {bare_avx512, touch_avx512};
    }
#elif defined(__aarch64__)
    if (isa == "neon") {
        return {bare_neon, touch_plain};
    }
#endif
    return {bare_scalar, touch_plain};
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

// One call of a kernel, and a bare loop to compare it with.
struct Case {
    std::string kernel;
    const char* level;
    std::size_t bytes;  // of the matrix; else what a call reads and writes
    std::size_t n_columns;
    const char* words;
    double kernel_bytes;  // that a call goes through
    double bare_bytes;
    std::function<void(const Kernels&)> call;
    std::function<std::uint64_t(const BareLoops&)> bare;
};

// Print a line per instruction set.
void measure(const Case& c, std::size_t n_samples) {
    const std::vector<const Kernels*>& tables = available_kernels();
    std::vector<std::vector<double>> kernel_seconds(tables.size());
    std::vector<std::vector<double>> bare_seconds(tables.size());
    for (std::size_t s = 0; s < n_samples; ++s) {
        for (std::size_t i = 0; i < tables.size(); ++i) {
            const BareLoops loops = bare_loops(tables[i]->name);
            kernel_seconds[i].push_back(sample([&] { c.call(*tables[i]); }));
            bare_seconds[i].push_back(sample([&] { sink += c.bare(loops); }));
        }
    }
    for (std::size_t i = 0; i < tables.size(); ++i) {
        const auto rate = [](double bytes, const std::vector<double>& seconds) {
            return 1e-9 * bytes / median(seconds);
        };
        std::printf("%s,%s,%s,%zu,%zu,%s,%.4g,%.4g,%.4g\n", tables[i]->name, c.kernel.c_str(), c.level, c.bytes,
                    c.n_columns, c.words, rate(c.kernel_bytes, kernel_seconds[i]), rate(c.bare_bytes, bare_seconds[i]),
                    rate(c.kernel_bytes, kernel_seconds[0]));
    }
}

void measure_counts(const Level& level, const std::uint64_t* bits, std::size_t n_columns, bool all,
                    std::size_t n_samples) {
    Random random;
    const std::size_t n_words = std::max<std::size_t>(2, level.bytes / 8 / n_columns);
    const List list = make_list(random, n_words, all);
    AlignedBuffer<std::int32_t> counts;
    counts.ensure(n_columns);
    const std::size_t bytes = 8 * n_words * n_columns;
    std::size_t turn = 0;
    measure({"count", level.name, bytes, n_columns, all ? "all" : "half",
             static_cast<double>(8 * list.words.size() * n_columns), static_cast<double>(bytes),
             [&](const Kernels& kernels) {
                 kernels.count(bits, n_columns, list.view(), n_columns, counts.data());
                 sink += static_cast<std::uint64_t>(counts[0]);
             },
             [&](const BareLoops& loops) { return loops.count(bits, n_words * n_columns, list.masks[turn++ % 2]); }},
            n_samples);
}

// Arguments for the other kernels: a node with 128 columns and three classes, lists and words in the first-level cache.
class SmallCases {
  public:
    explicit SmallCases(std::size_t n_samples) : n_samples_(n_samples) {
        for (std::size_t c = 0; c < kClasses; ++c) {
            totals_.push_back(2 * kMostRows);
            small_totals_.push_back(kMostRows);
            rows_.push_back(counts_.ensure(kClasses * kWide) + c * kWide);
            small_rows_.push_back(small_counts_.ensure(kClasses * kWide) + c * kWide);
            for (std::size_t j = 0; j < kWide; ++j) {
                small_counts_[c * kWide + j] = draw(kMostRows);
                counts_[c * kWide + j] = small_counts_[c * kWide + j] + draw(kMostRows);
            }
        }
        for (std::size_t c = 0; c < kClasses; ++c) {
            nested_rows_.push_back(nested_.ensure(kClasses * kWide) + c * kWide);
            std::generate_n(nested_.data() + c * kWide, kWide, [&] { return draw(2 * kMostRows); });
            std::sort(nested_.data() + c * kWide, nested_.data() + (c + 1) * kWide, std::greater<>());
        }
        table_.resize(std::size_t{2 * kMostRows} * kClasses + 1);
        for (std::size_t i = 0; i < table_.size(); ++i) {
            table_[i] = xlog2x(static_cast<std::int64_t>(i), kUnit);
        }
        std::generate_n(in_.ensure(kWords), kWords, [&] { return random_.bits(); });
        std::fill_n(out_.ensure(kWords), kWords, 0);
        std::fill_n(zeros_.ensure(kWide), kWide, 0);
        for (std::size_t j = 0; j < kWords; ++j) {
            keys_.ensure(kWords)[j] = static_cast<ScoreKey>(random_.bits() >> 2);
            flags_.push_back(static_cast<std::uint8_t>(random_.bits() & 1));
        }
        list_ = make_list(random_, kListed, true);
    }

    void measure_all() {
        counts();
        scores();
        words();
    }

  private:
    static constexpr std::size_t kWide = 128;
    static constexpr std::size_t kClasses = 3;
    static constexpr std::int32_t kMostRows = 500;
    static constexpr std::size_t kWords = 2048;
    static constexpr std::size_t kListed = kWords / 64 / 2;
    static constexpr double kUnit = 0x1p24;

    std::int32_t draw(std::int32_t most) {
        return static_cast<std::int32_t>(random_.bits() % (static_cast<std::uint64_t>(most) + 1));
    }
    template <class T>
    static Words words_of(const T* data, std::size_t n) {
        return {reinterpret_cast<const std::uint64_t*>(data), n * sizeof(T) / 8};
    }

    void add(const char* kernel, const std::vector<Words>& read, std::size_t written,
             const std::function<void(const Kernels&)>& call, std::size_t n_columns = kWide) {
        std::size_t bytes = written;
        for (const Words& words : read) {
            bytes += words.size_bytes();
        }
        const auto gone_through = static_cast<double>(bytes);
        measure({kernel, "L1", bytes, n_columns, "all", gone_through, gone_through, call,
                 [&](const BareLoops& loops) { return loops.touch(read, {touched_.ensure(kWords * 4), written / 8}); }},
                n_samples_);
    }

    // Kernels that make counts, errors and bounds of counts.
    void counts() {
        std::int32_t* sums = sums_.ensure(2 * kWide);
        auto* lower = reinterpret_cast<std::int64_t*>(out_.data());
        const Words parent = words_of(counts_.data(), kClasses * kWide);
        const Words child = words_of(small_counts_.data(), kClasses * kWide);
        const Words row = words_of(counts_.data(), kWide);
        const Words nested = words_of(nested_.data(), kClasses * kWide);
        std::fill_n(sums, 2 * kWide, 0);
        add("add_product", {words_of(zeros_.data(), kWide), words_of(sums, kWide)}, 4 * kWide,
            [&](const Kernels& k) { k.add_product(zeros_.data(), 3, kWide, sums); });
        add("last_level", {parent, child}, 8 * kWide, [&](const Kernels& k) {
            const PairTable pair = {rows_.data(), small_rows_.data(), totals_.data(), small_totals_.data(), kClasses,
                                    sums,         sums + kWide};
            sink += static_cast<std::uint64_t>(k.last_level(pair, 1, kWide).small);
        });
        add("block_errors", {nested, words_of(has_gap_.data(), kWide)}, 4 * kWide, [&](const Kernels& k) {
            const CountTable node = {nested_rows_.data(), totals_.data(), kClasses};
            sink += static_cast<std::uint64_t>(k.block_errors(node, {0, kWide, has_gap_.data()}, sums));
        });
        for (const bool scaled : {false, true}) {
            add(scaled ? "raise_bounds (scaled)" : "raise_bounds", {row, row, words_of(lower, 2 * kWide)}, 16 * kWide,
                [&, scaled](const Kernels& k) {
                    k.raise_bounds({small_counts_.data(), counts_.data(), kMostRows, kMostRows, scaled ? 1000 : 1, 300,
                                    200, lower, lower + kWide},
                                   kWide);
                });
        }
    }

    // Kernels that make keys, or compare them.
    void scores() {
        const CountTable node = {rows_.data(), totals_.data(), kClasses};
        const Words read = words_of(counts_.data(), kClasses * kWide);
        auto* keys = reinterpret_cast<ScoreKey*>(out_.data());
        add("entropy_score_keys", {read}, 8 * kWide,
            [&](const Kernels& k) { k.entropy_score_keys(node, {table_.data(), table_[100]}, 1, kWide, keys); });
        add("entropy_block_bounds", {words_of(nested_.data(), kClasses * kWide), words_of(has_gap_.data(), kWide)},
            8 * kWide, [&](const Kernels& k) {
                const CountTable nested = {nested_rows_.data(), totals_.data(), kClasses};
                k.entropy_block_bounds(nested, {table_.data(), table_[100]}, {0, kWide, has_gap_.data()}, keys);
            });
        add("large_entropy_score_keys", {read}, 8 * kWide,
            [&](const Kernels& k) { k.large_entropy_score_keys(node, table_[100], kUnit, 1, kWide, keys); });
        add("gini_score_keys", {read}, 8 * kWide,
            [&](const Kernels& k) { k.gini_score_keys(node, 1000, kUnit, 1, kWide, keys); });
        add("sqrt_score_keys", {read}, 8 * kWide,
            [&](const Kernels& k) { k.sqrt_score_keys(node, -1000, kUnit, 1, kWide, keys); });
        add("count_greater", {words_of(keys_.data(), kWide)}, 0,
            [&](const Kernels& k) { sink += k.count_greater(keys_.data(), nullptr, kWide, keys_[7]); });
        add("likely_keys", {words_of(keys_.data(), kWide)}, 0,
            [&](const Kernels& k) { sink += k.likely_keys(keys_.data(), kWide, 16, keys); });
        add("sort_keys", {{out_.data(), 32}}, 256, [&](const Kernels& k) { k.sort_keys(keys, 32); }, 32);
    }

    // Kernels that work on rows and words.
    void words() {
        const std::uint64_t* in = in_.data();
        std::uint64_t* out = out_.data();
        const WordList list = list_.view();
        const Words masks = words_of(list.masks, list.size);
        const Words indices = words_of(list.words, list.size);
        add("xor_fingerprints", {masks, indices, {in, kWords}}, 0,
            [&](const Kernels& k) { sink += k.xor_fingerprints(in, in + kWords / 2, list).low; });
        add("count_rows", {masks}, 0, [&](const Kernels& k) { sink += k.count_rows(list, nullptr); });
        add("count_rows (among)", {masks, indices, {in, list.size}}, 0,
            [&](const Kernels& k) { sink += k.count_rows(list, in); });
        add("compress", {{in, kWide}, {out, 2 * kWide}}, 16 * kWide,
            [&](const Kernels& k) { k.compress(in, list.masks[3], 40, kWide, out, out + kWide); });
        add(
            "pack_flags", {words_of(flags_.data(), kWords)}, kWords / 8,
            [&](const Kernels& k) { k.pack_flags(flags_.data(), kWords, out); }, 0);
        add("transpose", {{out, 64}}, 512, [&](const Kernels& k) { k.transpose(out); }, 64);
        add(
            "hash_words", {{in, kWords}}, 0, [&](const Kernels& k) { sink += k.hash_words({1, 2}, in, kWords).low; },
            0);
        add(
            "fill_fingerprints", {}, 8 * kWords,
            [&](const Kernels& k) { k.fill_fingerprints({1, 2}, kWords / 2, out, out + kWords / 2); }, 0);
        add(
            "fill_xlog2x", {}, 8 * kWords,
            [&](const Kernels& k) { k.fill_xlog2x(kUnit, kWords, reinterpret_cast<std::int64_t*>(out)); }, 0);
    }

    const std::size_t n_samples_;
    Random random_;
    AlignedBuffer<std::int32_t> counts_, small_counts_, nested_, zeros_, sums_;
    std::vector<std::int32_t> totals_, small_totals_;
    std::vector<const std::int32_t*> rows_, small_rows_, nested_rows_;
    std::vector<std::int64_t> table_;
    AlignedBuffer<std::uint64_t> in_, out_, touched_;
    AlignedBuffer<ScoreKey> keys_;
    std::vector<std::uint8_t> flags_;
    const std::vector<std::uint8_t> has_gap_ = std::vector<std::uint8_t>(kWide, 1);
    List list_;
};

}  // namespace

int main(int argc, char** argv) {
    const std::size_t n_samples = argc > 1 ? std::max(1UL, std::strtoul(argv[1], nullptr, 10)) : 9;
    const std::vector<Level> all_levels = levels();
    AlignedBuffer<std::uint64_t> bits;
    const std::size_t n = all_levels.back().bytes / 8;
    bits.ensure(n);
    Random random;
    std::generate_n(bits.data(), n, [&] { return random.bits(); });
    std::printf("isa,kernel,level,bytes,columns,words,gb_s,bare_gb_s,scalar_gb_s\n");
    for (const Level& level : all_levels) {
        for (const std::size_t n_columns : kColumns) {
            measure_counts(level, bits.data(), n_columns, true, n_samples);
            measure_counts(level, bits.data(), n_columns, false, n_samples);
        }
    }
    SmallCases(n_samples).measure_all();
    return sink == 0;  // the sums are used
}
