// Every kernel of this machine, and the scalar one of other compilers, against a naive loop: so they agree with each
// other.
#include <bit>
#include <climits>
#include <numeric>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "support/plain_kernels.hpp"
#include "support/problems.hpp"
#include "topk/base/fingerprint.hpp"
#include "topk/base/memory.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/score/scoring.hpp"

using namespace topk;

namespace {

template <class T>
struct Aligned {
    explicit Aligned(std::size_t n) : size(n) { std::fill_n(buffer.ensure(n), n, T{0}); }
    T* data() { return buffer.data(); }
    T& operator[](std::size_t i) { return buffer[i]; }
    std::vector<T> copy() { return {data(), data() + size}; }

    std::size_t size;
    AlignedBuffer<T> buffer;
};

Aligned<std::uint64_t> random_words(Random& random, std::size_t n) {
    Aligned<std::uint64_t> words(n);
    const std::size_t kind = random.below(4);
    for (std::size_t i = 0; i < n; ++i) {
        words[i] = kind == 0 ? ~std::uint64_t{0} : kind == 1 ? random.bits() & random.bits() : random.bits();
    }
    return words;
}

// `size` of `n_words` words, ascending, with masks of one kind: full, single rows or random.
struct RandomList {
    RandomList(Random& random, std::size_t n_words, std::size_t size) {
        const std::size_t kind = random.below(3);
        for (std::size_t w = 0; w < n_words && words.size() < size; ++w) {
            if (random.below(n_words - w) < size - words.size()) {
                const std::uint64_t mask = kind == 1 ? std::uint64_t{1} << random.below(64) : random.bits() | 1;
                words.push_back(static_cast<std::uint32_t>(w));
                masks.push_back(kind == 0 ? ~std::uint64_t{0} : mask);
            }
        }
    }
    WordList list() const { return {words.data(), masks.data(), masks.size()}; }

    std::vector<std::uint32_t> words;
    std::vector<std::uint64_t> masks;
};

using Sizes = std::initializer_list<std::size_t>;

constexpr std::size_t kWidest = 400;

void test_count(const Kernels& kernels, Random& random, std::size_t size, std::size_t n_columns) {
    const std::size_t n_words = size + random.below(20) + 1;
    const std::size_t stride = n_columns + kColumnPadding * random.below(3);
    Aligned<std::uint64_t> bits = random_words(random, n_words * stride);
    const RandomList random_list(random, n_words, size);
    const WordList list = random_list.list();
    Aligned<std::int32_t> counts(n_columns);
    kernels.count(bits.data(), stride, list, n_columns, counts.data());
    std::vector<std::int32_t> expected(n_columns, 0);
    for (std::size_t i = 0; i < list.size; ++i) {
        for (std::size_t j = 0; j < n_columns; ++j) {
            expected[j] += std::popcount(list.masks[i] & bits[list.words[i] * stride + j]);
        }
    }
    CHECK(counts.copy() == expected, kernels.name << ": " << size << " words, " << n_columns << " columns");
}

void test_rows_of_list(const Kernels& kernels, Random& random, std::size_t size) {
    const std::size_t n_words = size + random.below(20) + 1;
    Aligned<std::uint64_t> low = random_words(random, 64 * n_words);
    Aligned<std::uint64_t> high = random_words(random, 64 * n_words);
    Aligned<std::uint64_t> among = random_words(random, n_words);
    const RandomList random_list(random, n_words, size);
    const WordList list = random_list.list();
    Fingerprint expected;
    std::size_t n_rows = 0;
    std::size_t n_among = 0;
    for (std::size_t i = 0; i < list.size; ++i) {
        for (std::size_t r = 0; r < 64; ++r) {
            if ((list.masks[i] >> r & 1) != 0) {
                const std::size_t row = std::size_t{64} * list.words[i] + r;
                expected = expected ^ Fingerprint{low[row], high[row]};
                n_rows += 1;
                n_among += among[list.words[i]] >> r & 1;
            }
        }
    }
    CHECK(kernels.xor_fingerprints(low.data(), high.data(), list) == expected,
          kernels.name << ": " << size << " words");
    CHECK(kernels.count_rows(list, nullptr) == n_rows, kernels.name << ": " << size << " words");
    CHECK(kernels.count_rows(list, among.data()) == n_among, kernels.name << ": " << size << " words");
}

// Class counts of a node and of a child of it that lacks some of the classes.
struct RandomCounts {
    RandomCounts(Random& random, std::size_t n_columns, std::size_t n_classes, std::size_t max_count) {
        for (std::size_t c = 0; c < n_classes; ++c) {
            const bool absent = random.chance(0.2);
            small_totals.push_back(absent ? 0 : static_cast<std::int32_t>(random.below(max_count) + 1));
            parent_totals.push_back(small_totals[c] + static_cast<std::int32_t>(random.below(max_count) + absent));
            small.emplace_back(n_columns);
            parent.emplace_back(n_columns);
            for (std::size_t j = 0; j < n_columns; ++j) {
                const auto draw = [&](std::int32_t most) {
                    return static_cast<std::int32_t>(random.below(static_cast<std::size_t>(most) + 1));
                };
                small[c][j] = draw(small_totals[c]);
                parent[c][j] = small[c][j] + draw(parent_totals[c] - small_totals[c]);
            }
        }
        for (std::size_t c = 0; c < n_classes; ++c) {
            parent_rows.push_back(parent[c].data());
            small_rows.push_back(small_totals[c] == 0 ? nullptr : small[c].data());
        }
    }

    std::vector<Aligned<std::int32_t>> parent, small;
    std::vector<std::int32_t> parent_totals, small_totals;
    std::vector<const std::int32_t*> parent_rows, small_rows;
};

// A side's weight less its heaviest class, both sides; kNoSplit if one is too small.
std::int32_t naive_errors(const std::vector<std::int32_t>& n_true, const std::vector<std::int32_t>& totals,
                          std::int32_t min_side) {
    std::int32_t weight[2] = {};
    std::int32_t heaviest[2] = {};
    for (std::size_t c = 0; c < totals.size(); ++c) {
        const std::int32_t sides[2] = {totals[c] - n_true[c], n_true[c]};
        for (int s = 0; s < 2; ++s) {
            weight[s] += sides[s];
            heaviest[s] = std::max(heaviest[s], sides[s]);
        }
    }
    return std::min(weight[0], weight[1]) < min_side ? kNoSplit : weight[0] - heaviest[0] + weight[1] - heaviest[1];
}

void test_last_level(const Kernels& kernels, Random& random, std::size_t n_columns, std::size_t n_classes) {
    RandomCounts counts(random, n_columns, n_classes, random.pick<std::size_t>({1, 10, 100'000'000}));
    const auto min_side = random.pick({1, 1, 5, INT_MAX});
    Aligned<std::int32_t> small_errors(n_columns);
    Aligned<std::int32_t> large_errors(n_columns);
    const Minima minima =
        kernels.last_level({counts.parent_rows.data(), counts.small_rows.data(), counts.parent_totals.data(),
                            counts.small_totals.data(), n_classes, small_errors.data(), large_errors.data()},
                           min_side, n_columns);
    std::vector<std::int32_t> small(n_columns);
    std::vector<std::int32_t> large(n_columns);
    std::vector<std::int32_t> large_totals(n_classes);
    for (std::size_t j = 0; j < n_columns; ++j) {
        std::vector<std::int32_t> small_true(n_classes);
        std::vector<std::int32_t> large_true(n_classes);
        for (std::size_t c = 0; c < n_classes; ++c) {
            small_true[c] = counts.small[c][j];
            large_true[c] = counts.parent[c][j] - counts.small[c][j];
            large_totals[c] = counts.parent_totals[c] - counts.small_totals[c];
        }
        small[j] = naive_errors(small_true, counts.small_totals, min_side);
        large[j] = naive_errors(large_true, large_totals, min_side);
    }
    const auto shape = std::to_string(n_columns) + " columns, " + std::to_string(n_classes) + " classes";
    CHECK(small_errors.copy() == small, kernels.name << ": " << shape);
    CHECK(large_errors.copy() == large, kernels.name << ": " << shape);
    CHECK(minima.small == *std::min_element(small.begin(), small.end()), kernels.name << ": " << shape);
    CHECK(minima.large == *std::min_element(large.begin(), large.end()), kernels.name << ": " << shape);
}

void test_add_product(const Kernels& kernels, Random& random, std::size_t n_columns) {
    RandomCounts counts(random, n_columns, 2, 1000);
    const auto factor = random.pick({1, 2, 7, 1 << 20});
    std::vector<std::int32_t> expected = counts.parent[1].copy();
    for (std::size_t j = 0; j < n_columns; ++j) {
        expected[j] += counts.parent[0][j] * factor;
    }
    kernels.add_product(counts.parent[0].data(), factor, n_columns, counts.parent[1].data());
    CHECK(counts.parent[1].copy() == expected, kernels.name << ": " << n_columns << " columns, times " << factor);
}

std::int32_t weight_of(const RandomCounts& counts) {
    return std::accumulate(counts.parent_totals.begin(), counts.parent_totals.end(), 0);
}

std::int64_t whole_of(const RandomCounts& counts, double unit) {
    std::int64_t whole = -xlog2x(weight_of(counts), unit);
    for (const std::int32_t total : counts.parent_totals) {
        whole += xlog2x(total, unit);
    }
    return whole;
}

// Entropy keys, term by term.
std::vector<std::int64_t> naive_keys(RandomCounts& counts, std::size_t n_columns, double unit, std::int32_t min_side) {
    const auto term = [&](std::int32_t n) { return xlog2x(n, unit); };
    const std::int64_t whole = whole_of(counts, unit);
    const std::int32_t weight = weight_of(counts);
    const std::size_t n_classes = counts.parent_totals.size();
    std::vector<std::int64_t> expected;
    for (std::size_t j = 0; j < n_columns; ++j) {
        std::int32_t n_true = 0;
        std::int64_t sides = 0;
        for (std::size_t c = 0; c < n_classes; ++c) {
            n_true += counts.parent[c][j];
            sides += term(counts.parent[c][j]) + term(counts.parent_totals[c] - counts.parent[c][j]);
        }
        const std::int64_t gain = sides - term(n_true) - term(weight - n_true) - whole;
        const bool admissible = std::min(n_true, weight - n_true) >= min_side;
        expected.push_back(admissible ? make_score_key(round_gain(gain), j) : kNoScoreKey);
    }
    return expected;
}

void test_entropy_keys(const Kernels& kernels, Random& random, std::size_t n_columns, std::size_t n_classes) {
    RandomCounts counts(random, n_columns, n_classes, random.pick<std::size_t>({1, 10, 2000}));
    const auto min_side = random.pick({1, 1, 7});
    std::vector<std::int64_t> table;
    for (std::int32_t n = 0; n <= weight_of(counts); ++n) {
        table.push_back(xlog2x(n, 0x1p24));
    }
    Aligned<std::int64_t> keys(n_columns);
    kernels.entropy_score_keys({counts.parent_rows.data(), counts.parent_totals.data(), n_classes},
                               {table.data(), whole_of(counts, 0x1p24)}, min_side, n_columns, keys.data());
    CHECK(keys.copy() == naive_keys(counts, n_columns, 0x1p24, min_side),
          kernels.name << ": " << n_columns << " columns, " << n_classes << " classes");
}

void test_large_entropy_keys(const Kernels& kernels, Random& random, std::size_t n_columns, std::size_t n_classes) {
    const auto largest = random.pick<std::size_t>({1, 2000, (std::size_t{1} << 30) / n_classes - 1});
    RandomCounts counts(random, n_columns, n_classes, largest);
    const auto min_side = random.pick({1, 1, 7, 70'000'000});
    const double unit = 0x1p13;  // of the largest totals
    Aligned<std::int64_t> keys(n_columns);
    kernels.large_entropy_score_keys({counts.parent_rows.data(), counts.parent_totals.data(), n_classes},
                                     whole_of(counts, unit), unit, min_side, n_columns, keys.data());
    CHECK(keys.copy() == naive_keys(counts, n_columns, unit, min_side),
          kernels.name << ": " << n_columns << " columns, " << n_classes << " classes up to " << largest);
}

void test_count_greater(const Kernels& kernels, Random& random, std::size_t n_columns) {
    Aligned<std::int64_t> keys(n_columns);
    for (std::size_t j = 0; j < n_columns; ++j) {
        keys[j] = random.chance(0.2) ? kNoScoreKey : static_cast<std::int64_t>(random.bits() >> random.pick({1, 60}));
    }
    for (const ScoreKey key : {keys[random.below(n_columns)], kNoScoreKey, std::int64_t{INT64_MAX}, std::int64_t{0}}) {
        const auto expected = std::count_if(keys.data(), keys.data() + n_columns, [&](auto k) { return k > key; });
        CHECK(kernels.count_greater(keys.data(), n_columns, key) == static_cast<std::size_t>(expected),
              kernels.name << ": " << n_columns << " columns");
    }
}

void test_compress(const Kernels& kernels, Random& random, std::uint64_t mask, unsigned shift, std::size_t n_columns) {
    Aligned<std::uint64_t> in = random_words(random, n_columns);
    Aligned<std::uint64_t> low(n_columns);
    Aligned<std::uint64_t> high(n_columns);
    for (std::size_t j = 0; j < n_columns; ++j) {
        low[j] = random.bits() & ((std::uint64_t{1} << shift) - 1);  // the rows that are there already
    }
    std::vector<std::uint64_t> expected_low = low.copy();
    std::vector<std::uint64_t> expected_high(n_columns, 0);
    for (std::size_t j = 0; j < n_columns; ++j) {
        unsigned position = shift;
        for (unsigned r = 0; r < 64; ++r) {
            if ((mask >> r & 1) != 0) {
                (position < 64 ? expected_low : expected_high)[j] |= (in[j] >> r & 1) << position % 64;
                ++position;
            }
        }
    }
    // If nothing overflows there may be no next word.
    const bool overflows = shift + static_cast<unsigned>(std::popcount(mask)) > 64;
    kernels.compress(in.data(), mask, shift, n_columns, low.data(), overflows ? high.data() : nullptr);
    const auto shape = std::to_string(n_columns) + " columns, mask " + std::to_string(mask);
    CHECK(low.copy() == expected_low, kernels.name << ": " << shape << ", shift " << shift);
    CHECK(high.copy() == expected_high, kernels.name << ": " << shape << ", shift " << shift);
}

void test_compress_shapes(const Kernels& kernels, Random& random) {
    const std::uint64_t all = ~std::uint64_t{0};
    for (unsigned shift = 0; shift < 64; ++shift) {
        const std::uint64_t sparse = random.bits() & random.bits() & random.bits();
        for (const std::uint64_t mask :
             {all, all >> shift, all << shift, random.bits(), sparse, std::uint64_t{1} << shift}) {
            test_compress(kernels, random, mask, shift, 1);
            test_compress(kernels, random, mask, shift, kColumnPadding * random.between(1, kWidest / kColumnPadding));
        }
    }
}

// A few costs of all sizes, so that some raise a bound and some do not.
void test_raise_bounds(const Kernels& kernels, Random& random, std::size_t n_columns) {
    const auto draw = [&](std::int32_t most) {
        return static_cast<std::int32_t>(random.below(static_cast<std::size_t>(most) + 1));
    };
    const std::int32_t weight_a = draw(random.pick({0, 10, INT_MAX / 2}));
    const std::int32_t weight_b = draw(random.pick({0, 10, INT_MAX / 2}));
    const auto scale = random.pick<std::int64_t>({1, 1, 3, 1'000'003, std::int64_t{1} << 30});
    const auto draw_cost = [&](std::int32_t weight) {
        return static_cast<std::int64_t>(random.bits() % (static_cast<std::uint64_t>(weight * scale) + 2));
    };
    const std::int64_t cost_a = draw_cost(weight_a);
    const std::int64_t cost_b = draw_cost(weight_b);
    Aligned<std::int32_t> both(n_columns);
    Aligned<std::int32_t> n_true(n_columns);
    Aligned<std::int64_t> lower_false(n_columns);
    Aligned<std::int64_t> lower_true(n_columns);
    std::vector<std::int64_t> expected_false;
    std::vector<std::int64_t> expected_true;
    for (std::size_t j = 0; j < n_columns; ++j) {
        both[j] = draw(weight_a);
        n_true[j] = both[j] + draw(weight_b);
        lower_false[j] = draw_cost(random.pick({0, weight_a}));
        lower_true[j] = draw_cost(random.pick({0, weight_b}));
        // What side A, and what side B, has more than the false side of the column: the true rows of either.
        const std::int64_t true_b = n_true[j] - both[j];
        expected_false.push_back(std::max({lower_false[j], cost_a - scale * both[j], cost_b - scale * true_b}));
        expected_true.push_back(
            std::max({lower_true[j], cost_a - scale * (weight_a - both[j]), cost_b - scale * (weight_b - true_b)}));
    }
    kernels.raise_bounds(
        {both.data(), n_true.data(), weight_a, weight_b, scale, cost_a, cost_b, lower_false.data(), lower_true.data()},
        n_columns);
    CHECK(lower_false.copy() == expected_false, kernels.name << ": " << n_columns << " columns, scale " << scale);
    CHECK(lower_true.copy() == expected_true, kernels.name << ": " << n_columns << " columns, scale " << scale);
}

// Flags start anywhere and end where their memory ends; the word after the last one is not touched.
void test_pack_flags(const Kernels& kernels, Random& random, std::size_t n) {
    const std::size_t offset = random.below(64);
    const double density = random.pick({0.0, 0.1, 0.5, 1.0});
    std::vector<std::uint8_t> flags(offset + n);
    for (std::uint8_t& flag : flags) {
        flag = random.chance(density) ? random.pick<std::uint8_t>({1, 1, 2, 128, 255}) : 0;
    }
    const std::size_t n_words = (n + 63) / 64;
    const std::uint64_t guard = random.bits();
    std::vector<std::uint64_t> out(n_words + 1, guard);
    kernels.pack_flags(flags.data() + offset, n, out.data());
    std::vector<std::uint64_t> expected(n_words, 0);
    for (std::size_t j = 0; j < n; ++j) {
        expected[j / 64] |= std::uint64_t{flags[offset + j] != 0} << (j % 64);
    }
    expected.push_back(guard);
    CHECK(out == expected, kernels.name << ": " << n << " flags from " << offset << " on");
}

void test_transpose(const Kernels& kernels, Random& random) {
    Aligned<std::uint64_t> block = random_words(random, 64);
    if (random.chance(0.3)) {  // a single bit: it cannot be hidden by others
        const std::size_t at = random.below(64);
        std::fill_n(block.data(), 64, 0);
        block[at] = std::uint64_t{1} << random.below(64);
    }
    std::vector<std::uint64_t> expected(64, 0);
    for (std::size_t i = 0; i < 64; ++i) {
        for (std::size_t j = 0; j < 64; ++j) {
            expected[j] |= (block[i] >> j & 1) << i;
        }
    }
    kernels.transpose(block.data());
    CHECK(block.copy() == expected, kernels.name);
}

void test_fill_keys(const Kernels& kernels, std::size_t n) {
    Aligned<std::uint64_t> low(n + 64);
    Aligned<std::uint64_t> high(n + 64);
    kernels.fill_fingerprints(n, low.data(), high.data());
    std::vector<std::uint64_t> expected_low(n + 64, 0);
    std::vector<std::uint64_t> expected_high(n + 64, 0);
    for (std::size_t i = 0; i < n; ++i) {
        expected_low[i] = splitmix64(2 * i);
        expected_high[i] = splitmix64(2 * i + 1);
    }
    CHECK(low.copy() == expected_low, kernels.name << ": " << n << " rows");
    CHECK(high.copy() == expected_high, kernels.name << ": " << n << " rows");
}

// Bit for bit what one call at a time gives, which is what large counts get.
void test_fill_xlog2x(const Kernels& kernels, double unit, std::size_t n) {
    std::vector<std::int64_t> table(n + 1, -1);
    kernels.fill_xlog2x(unit, n, table.data());
    std::vector<std::int64_t> expected;
    for (std::size_t i = 0; i < n; ++i) {
        expected.push_back(xlog2x(static_cast<std::int64_t>(i), unit));
    }
    expected.push_back(-1);
    CHECK(table == expected, kernels.name << ": " << n << " counts, unit " << unit);
}

void test_fill_xlog2x_sizes(const Kernels& kernels) {
    for (std::size_t n = 0; n <= 70; ++n) {
        test_fill_xlog2x(kernels, 0x1p30, n);
    }
    for (const double unit : {0x1p43, 0x1p27, 0x1p13, 1.0, 0x1p-9}) {  // the table of n counts has sums below 2^51
        test_fill_xlog2x(kernels, unit, unit > 0x1p30 ? 101 : 65'537);
    }
    test_fill_xlog2x(kernels, 0x1p23, 300'001);
}

void test_find_kernels() {
    CHECK(std::string(available_kernels().front()->name) == "scalar");
    CHECK(&find_kernels("") == available_kernels().back());
    for (const Kernels* kernels : available_kernels()) {
        CHECK(&find_kernels(kernels->name) == kernels);
    }
    CHECK_THROWS(std::invalid_argument, find_kernels("abacus"));
}

void test_kernels(const Kernels& kernels) {
    Random random(1);
    for (std::size_t size = 0; size <= 200; ++size) {
        test_rows_of_list(kernels, random, size);
        test_count(kernels, random, size, kColumnPadding * random.between(1, kWidest / kColumnPadding));
    }
    for (std::size_t n_columns = kColumnPadding; n_columns <= kWidest; n_columns += kColumnPadding) {
        // AVX2 adds up bytes over 31 words.
        for (const std::size_t size : Sizes{0, 1, 30, 31, 32, 33, 61, 62, 63, 64, 93}) {
            test_count(kernels, random, size, n_columns);
        }
        for (const std::size_t n_classes : Sizes{1, 2, 3, 10}) {
            test_last_level(kernels, random, n_columns, n_classes);
            test_entropy_keys(kernels, random, n_columns, n_classes);
            test_large_entropy_keys(kernels, random, n_columns, n_classes);
        }
        test_add_product(kernels, random, n_columns);
        test_count_greater(kernels, random, n_columns);
        for (int i = 0; i < 10; ++i) {
            test_raise_bounds(kernels, random, n_columns);
        }
    }
    test_compress_shapes(kernels, random);
    for (std::size_t n = 0; n <= 300; ++n) {
        test_pack_flags(kernels, random, n);
        test_transpose(kernels, random);
    }
    for (const std::size_t n : Sizes{0, 64, 128, 192, 64'000}) {
        test_fill_keys(kernels, n);
    }
    test_fill_xlog2x_sizes(kernels);
}

}  // namespace

int main() {
    test_find_kernels();
    for (const Kernels* kernels : available_kernels()) {
        test_kernels(*kernels);
    }
    test_kernels(plain_kernels());
    return check::report();
}
