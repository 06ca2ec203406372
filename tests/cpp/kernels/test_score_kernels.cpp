// The kernels that work on class counts (errors, bounds, entropy keys): all kernels of this machine, and the scalar one
// as other compilers get it, against naive loops.
#include <algorithm>
#include <climits>
#include <functional>
#include <iterator>
#include <numeric>
#include <vector>

#include "support/aligned.hpp"
#include "support/check.hpp"
#include "support/plain_kernels.hpp"
#include "support/problems.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/score/scoring.hpp"

using namespace topk;

namespace {

using Sizes = std::initializer_list<std::size_t>;

constexpr std::size_t kWidest = 400;

// Class counts of a node and of one of its children, which lacks some of the classes.
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

// The errors of a split: weight minus heaviest class, summed over both sides; kNoSplit if a side is too small.
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
    std::vector<std::int32_t> small_free(n_columns);
    std::vector<std::int32_t> large_free(n_columns);
    std::vector<std::int32_t> large_totals(n_classes);
    for (std::size_t j = 0; j < n_columns; ++j) {
        std::vector<std::int32_t> small_true(n_classes);
        std::vector<std::int32_t> large_true(n_classes);
        for (std::size_t c = 0; c < n_classes; ++c) {
            small_true[c] = counts.small[c][j];
            large_true[c] = counts.parent[c][j] - counts.small[c][j];
            large_totals[c] = counts.parent_totals[c] - counts.small_totals[c];
        }
        const std::int32_t checked = min_side > 1 ? min_side : 0;
        small[j] = naive_errors(small_true, counts.small_totals, checked);
        large[j] = naive_errors(large_true, large_totals, checked);
        small_free[j] = naive_errors(small_true, counts.small_totals, 0);
        large_free[j] = naive_errors(large_true, large_totals, 0);
    }
    const auto shape = std::to_string(n_columns) + " columns, " + std::to_string(n_classes) + " classes";
    CHECK(small_errors.copy() == small, kernels.name << ": " << shape);
    CHECK(large_errors.copy() == large, kernels.name << ": " << shape);
    CHECK(minima.small == *std::min_element(small.begin(), small.end()), kernels.name << ": " << shape);
    CHECK(minima.large == *std::min_element(large.begin(), large.end()), kernels.name << ": " << shape);
    CHECK(minima.small_free == *std::min_element(small_free.begin(), small_free.end()), kernels.name << ": " << shape);
    CHECK(minima.large_free == *std::min_element(large_free.begin(), large_free.end()), kernels.name << ": " << shape);
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

// Columns of which each has some of the true rows of the one before, with blocks of one row up to many between them.
struct RandomChain {
    RandomChain(Random& random, std::size_t n_columns, std::size_t n_classes, std::size_t first, std::size_t most) {
        for (std::size_t c = 0; c < n_classes; ++c) {
            rows.emplace_back(first + n_columns);
            std::int32_t n_true = 0;
            for (std::size_t j = first + n_columns; j-- > first;) {
                rows[c][j] = n_true;
                n_true += static_cast<std::int32_t>(random.below(most + 1));
            }
            totals.push_back(n_true);
            pointers.push_back(rows[c].data());
        }
        for (std::size_t i = 0; i < n_columns; ++i) {
            has_gap.push_back(random.chance(0.8) ? 1 : 0);
        }
    }
    std::int32_t count_at_begin(std::size_t c, std::size_t j, std::size_t first) {
        return j == first ? totals[c] : rows[c][j - 1];
    }

    std::vector<Aligned<std::int32_t>> rows;
    std::vector<std::int32_t> totals;
    std::vector<const std::int32_t*> pointers;
    std::vector<std::uint8_t> has_gap;
};

// The bounds hold for random splits within every block.
void test_blocks(const Kernels& kernels, Random& random, std::size_t n_columns, std::size_t n_classes) {
    const std::size_t first = random.below(20);
    RandomChain chain(random, n_columns, n_classes, first, random.pick<std::size_t>({1, 3, 50}));
    const CountTable table = {chain.pointers.data(), chain.totals.data(), n_classes};
    const NestedColumns nested = {first, n_columns, chain.has_gap.data()};
    const std::int32_t weight = std::accumulate(chain.totals.begin(), chain.totals.end(), 0);
    const double unit = 1 << 20;
    std::vector<std::int64_t> x(static_cast<std::size_t>(weight) + 1);
    for (std::size_t n = 0; n < x.size(); ++n) {
        x[n] = xlog2x(static_cast<std::int64_t>(n), unit);
    }
    std::int64_t whole = -x.back();
    for (const std::int32_t total : chain.totals) {
        whole += x[static_cast<std::size_t>(total)];
    }
    std::vector<std::int32_t> errors(n_columns);
    std::vector<std::int64_t> scores(n_columns);
    const std::int32_t fewest = kernels.block_errors(table, nested, errors.data());
    kernels.entropy_block_bounds(table, {x.data(), whole}, nested, scores.data());
    CHECK(fewest == *std::min_element(errors.begin(), errors.end()), kernels.name);
    for (std::size_t i = 0; i < n_columns; ++i) {
        if (chain.has_gap[i] == 0) {
            CHECK(errors[i] == kNoSplit && scores[i] == -1, kernels.name);
            continue;
        }
        for (int attempt = 0; attempt < 4; ++attempt) {
            std::int32_t n_left = 0;
            std::int32_t heaviest[2] = {0, 0};
            std::size_t predicted[2] = {0, 0};
            std::int64_t gain = -whole;
            for (std::size_t c = 0; c < n_classes; ++c) {
                const std::int32_t low = chain.totals[c] - chain.count_at_begin(c, first + i, first);
                const std::int32_t high = chain.totals[c] - chain.rows[c][first + i];
                const auto left =
                    low + static_cast<std::int32_t>(random.below(static_cast<std::size_t>(high - low) + 1));
                const std::int32_t sides[2] = {left, chain.totals[c] - left};
                n_left += left;
                for (int s = 0; s < 2; ++s) {
                    gain += x[static_cast<std::size_t>(sides[s])];
                    predicted[s] = sides[s] > heaviest[s] ? c : predicted[s];
                    heaviest[s] = std::max(heaviest[s], sides[s]);
                }
            }
            gain -= x[static_cast<std::size_t>(n_left)] + x[static_cast<std::size_t>(weight - n_left)];
            const bool is_inside = scores[i] >= 0;  // there are at least two rows in the block
            CHECK(!is_inside || round_gain(gain) <= scores[i], kernels.name << ": " << n_classes << " classes");
            const bool is_leaf = n_classes == 2 && predicted[0] == predicted[1];
            CHECK(is_leaf || weight - heaviest[0] - heaviest[1] >= errors[i], kernels.name << ": " << n_classes);
        }
    }
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
    const double unit = 0x1p13;  // fits the largest totals
    Aligned<std::int64_t> keys(n_columns);
    kernels.large_entropy_score_keys({counts.parent_rows.data(), counts.parent_totals.data(), n_classes},
                                     whole_of(counts, unit), unit, min_side, n_columns, keys.data());
    CHECK(keys.copy() == naive_keys(counts, n_columns, unit, min_side),
          kernels.name << ": " << n_columns << " columns, " << n_classes << " classes up to " << largest);
}

// Criteria without logarithms, against Scorer's plain sums, which serve counts of 64 bits.
void test_plain_keys(const Kernels& kernels, Random& random, std::size_t n_columns, std::size_t n_classes) {
    const auto largest = random.pick<std::size_t>({1, 30, 2000, (std::size_t{1} << 30) / n_classes - 1});
    RandomCounts counts(random, n_columns, n_classes, largest);
    Counts<std::int32_t> narrow;
    Counts<std::int64_t> wide;
    std::vector<std::vector<std::int64_t>> rows;
    for (std::size_t c = 0; c < n_classes; ++c) {
        const std::vector<std::int32_t> row = counts.parent[c].copy();
        rows.emplace_back(row.begin(), row.end());
        narrow.rows.push_back(counts.parent_rows[c]);
        narrow.totals.push_back(counts.parent_totals[c]);
    }
    for (std::size_t c = 0; c < n_classes; ++c) {
        wide.rows.push_back(rows[c].data());
        wide.totals.push_back(counts.parent_totals[c]);
    }
    for (const Criterion criterion : {Criterion::gini, Criterion::sqrt}) {
        Objective objective;
        objective.criterion = criterion;
        const std::int64_t total = weight_of(counts) + random.pick<std::int64_t>({1, 1000});
        const Scorer scorer(objective, n_columns, static_cast<std::int32_t>(n_classes), total,
                            random.pick({1, 1, 7, 70'000'000}), kernels);
        Aligned<std::int64_t> keys(n_columns);
        std::vector<std::int64_t> expected(n_columns);
        scorer.all_keys(narrow, n_columns, keys.data());
        scorer.all_keys(wide, n_columns, expected.data());
        CHECK(keys.copy() == expected, kernels.name << ": criterion " << static_cast<int>(criterion) << ", "
                                                    << n_columns << " columns, " << n_classes << " classes up to "
                                                    << largest);
    }
}

void test_count_greater(const Kernels& kernels, Random& random, std::size_t n_columns) {
    Aligned<std::int64_t> keys(n_columns);
    Aligned<std::int64_t> copies(n_columns);
    for (std::size_t j = 0; j < n_columns; ++j) {
        keys[j] = random.chance(0.2) ? kNoScoreKey : static_cast<std::int64_t>(random.bits() >> random.pick({1, 60}));
        copies[j] = random.pick({0, 1, 1, 1000});
    }
    for (const ScoreKey key : {keys[random.below(n_columns)], kNoScoreKey, std::int64_t{INT64_MAX}, std::int64_t{0}}) {
        std::size_t expected = 0;
        std::size_t expected_copies = 0;
        for (std::size_t j = 0; j < n_columns; ++j) {
            expected += keys[j] > key ? 1U : 0U;
            expected_copies += keys[j] > key ? static_cast<std::size_t>(copies[j]) : 0U;
        }
        CHECK(kernels.count_greater(keys.data(), nullptr, n_columns, key) == expected &&
                  kernels.count_greater(keys.data(), copies.data(), n_columns, key) == expected_copies,
              kernels.name << ": " << n_columns << " columns");
    }
}

void test_best_keys(const Kernels& kernels, Random& random, std::size_t n_columns) {
    Aligned<std::int64_t> keys(n_columns);
    const int shift = random.pick({1, 50, 58});
    for (std::size_t j = 0; j < n_columns; ++j) {
        const auto score = static_cast<std::int64_t>(random.bits() >> shift >> kColumnBits);
        keys[j] = random.chance(0.2) ? kNoScoreKey : make_score_key(score, j);
    }
    std::vector<std::int64_t> sorted;
    std::copy_if(keys.data(), keys.data() + n_columns, std::back_inserter(sorted), [](auto key) { return key >= 0; });
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const std::size_t k = random.between(1, 40);
    std::vector<std::int64_t> likely(n_columns);
    likely.resize(kernels.likely_keys(keys.data(), n_columns, k, likely.data()));
    std::vector<std::int64_t> best = likely;
    std::sort(best.begin(), best.end(), std::greater<>());
    best.resize(std::min(k, best.size()));
    sorted.resize(std::min(k, sorted.size()));
    CHECK(best == sorted, kernels.name << ": " << k << " of " << n_columns << " columns");
    likely.resize(std::min(likely.size(), kMostSorted));
    best = likely;
    kernels.sort_keys(likely.data(), likely.size());
    std::sort(best.begin(), best.end(), std::greater<>());
    CHECK(likely == best, kernels.name << ": " << best.size() << " keys");
}

// Costs of all sizes, so that some of them raise a bound and some do not.
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
        // A \ S and B \ S, for the false side S of the column: the true rows of A and of B.
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

// The table has the same bits as single calls, which serve large counts.
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

void test_kernels(const Kernels& kernels) {
    Random random(1);
    for (std::size_t n_columns = kColumnPadding; n_columns <= kWidest; n_columns += kColumnPadding) {
        for (const std::size_t n_classes : Sizes{1, 2, 3, 10}) {
            test_last_level(kernels, random, n_columns, n_classes);
            test_blocks(kernels, random, n_columns - random.below(kColumnPadding), n_classes);
            test_entropy_keys(kernels, random, n_columns, n_classes);
            test_large_entropy_keys(kernels, random, n_columns, n_classes);
            for (int i = 0; i < 10; ++i) {
                test_plain_keys(kernels, random, n_columns, n_classes);
            }
        }
        test_add_product(kernels, random, n_columns);
        test_count_greater(kernels, random, n_columns);
        test_best_keys(kernels, random, n_columns);
        for (int i = 0; i < 10; ++i) {
            test_raise_bounds(kernels, random, n_columns);
        }
    }
    test_fill_xlog2x_sizes(kernels);
}

}  // namespace

int main() {
    for (const Kernels* kernels : available_kernels()) {
        test_kernels(*kernels);
    }
    test_kernels(plain_kernels());
    return check::report();
}
