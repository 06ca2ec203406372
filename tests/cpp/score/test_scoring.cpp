// Scores in fixed point against real numbers, their ties, and the order of the keys.
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/base/memory.hpp"
#include "topk/score/scoring.hpp"

using namespace topk;

namespace {

void test_xlog2x() {
    Random random(1);
    CHECK(xlog2x(0, 0x1p40) == 0);
    CHECK(xlog2x(1, 0x1p40) == 0);
    for (int p = 1; p < 45; ++p) {
        const std::int64_t n = std::int64_t{1} << p;
        CHECK(xlog2x(n, 1.0) == n * p, "2^" << p);
        CHECK(xlog2x(n, std::ldexp(1.0, 44 - p)) == p * (std::int64_t{1} << 44), "2^" << p);
    }
    for (int i = 0; i < 20'000; ++i) {
        const auto n =
            i < 5000 ? std::int64_t{i} + 2 : static_cast<std::int64_t>(random.bits() >> random.between(12, 61)) + 2;
        // Enough units for their rounding to be below the tolerance.
        const double unit = std::ldexp(1.0, 45 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))));
        const double expected = static_cast<double>(n) * std::log2(static_cast<double>(n));
        const double error = std::abs(static_cast<double>(xlog2x(n, unit)) / unit - expected) / expected;
        CHECK(error < 1e-12, n << " is off by " << error);
    }
}

// A checksum of every bit of many values. The Python tests of the engine compute it from the reference.
void test_xlog2x_of_the_reference() {
    std::uint64_t checksum = 0;
    const auto add = [&](std::int64_t n, double unit) {
        checksum = checksum * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(xlog2x(n, unit));
    };
    for (std::int64_t n = 0; n < 50'000; ++n) {
        add(n, 0x1p28);
    }
    for (std::uint64_t i = 1; i <= 10'000; ++i) {  // up to 2^53
        add(static_cast<std::int64_t>((i * 0x9e3779b97f4a7c15U) >> (11 + i % 50)), 0x1p-9);
    }
    CHECK(checksum == 0x1080beaae7fb4d35U, std::hex << checksum);
}

// Random counts: column 2i + 1 is the complement of column 2i, and the second half repeats the first.
template <class Count>
struct RandomCounts {
    RandomCounts(Random& random, std::size_t n_classes, std::size_t max_total) {
        constexpr std::size_t kHalf = kColumns / 2;
        for (std::size_t c = 0; c < n_classes; ++c) {
            const std::size_t total = random.between(1, max_total);
            counts.totals.push_back(static_cast<Count>(total));
            counts.class_index.push_back(static_cast<std::int32_t>(c));
            storage.emplace_back().ensure(kPadded);
            std::fill_n(storage[c].data(), kPadded, Count{0});
            for (std::size_t j = 0; j < kHalf; j += 2) {
                const auto n_true = static_cast<Count>(random.chance(0.2) ? 0 : random.below(total + 1));
                for (const std::size_t at : {j, j + kHalf}) {
                    storage[c][at] = n_true;
                    storage[c][at + 1] = static_cast<Count>(total) - n_true;
                }
            }
        }
        for (const auto& row : storage) {
            counts.rows.push_back(row.data());
        }
    }

    static constexpr std::size_t kColumns = 40;
    static constexpr std::size_t kPadded = 48;
    std::vector<AlignedBuffer<Count>> storage;
    Counts<Count> counts;
};

template <class Count>
std::int64_t sum(const std::vector<Count>& values) {
    std::int64_t total = 0;
    for (const Count value : values) {
        total += value;
    }
    return total;
}

template <class Count>
std::int64_t n_true(const Counts<Count>& counts, std::size_t column) {
    std::int64_t n = 0;
    for (const Count* row : counts.rows) {
        n += row[column];
    }
    return n;
}

template <class Count>
std::vector<std::int64_t> score(const Options& options, std::int64_t min_side, const Counts<Count>& counts,
                                const Kernels& kernels) {
    const Scorer scorer(options.objective, RandomCounts<Count>::kColumns, static_cast<std::int32_t>(counts.rows.size()),
                        sum(counts.totals), min_side, kernels);
    AlignedBuffer<ScoreKey> keys;
    scorer.keys(counts, RandomCounts<Count>::kPadded, keys.ensure(RandomCounts<Count>::kPadded));
    return {keys.data(), keys.data() + RandomCounts<Count>::kPadded};
}

// A criterion's value of one side, in real numbers. The gain is both sides minus the whole.
double purity(Criterion criterion, const std::vector<double>& counts) {
    const auto xlogx = [](double x) { return x > 0 ? x * std::log2(x) : 0; };
    double total = 0;
    for (const double n : counts) {
        total += n;
    }
    double sum = 0;
    for (const double n : counts) {
        sum += criterion == Criterion::gini   ? n * n / std::max(total, 1.0)
               : criterion == Criterion::sqrt ? -std::sqrt(n * (total - n))
                                              : xlogx(n);
    }
    return criterion == Criterion::entropy || criterion == Criterion::gain_ratio ? sum - xlogx(total) : sum;
}

template <class Count>
double naive_score(Criterion criterion, const Counts<Count>& counts, std::size_t column) {
    std::vector<double> sides[3];
    for (std::size_t c = 0; c < counts.rows.size(); ++c) {
        const auto total = static_cast<double>(counts.totals[c]);
        const auto n = static_cast<double>(counts.rows[c][column]);
        sides[0].push_back(total - n);
        sides[1].push_back(n);
        sides[2].push_back(total);
    }
    const double gain = purity(criterion, sides[0]) + purity(criterion, sides[1]) - purity(criterion, sides[2]);
    const auto total = static_cast<double>(sum(counts.totals));
    if (criterion != Criterion::gain_ratio) {
        return std::ldexp(gain, kFixedPointBits - kRoundBits - std::ilogb(total) - 1);
    }
    const auto n = static_cast<double>(n_true(counts, column));
    return std::ldexp(gain / -purity(Criterion::entropy, {n, total - n}), kRatioBits);
}

template <class Count>
void test_scores(Random& random, Criterion criterion, std::size_t max_total) {
    const RandomCounts<Count> random_counts(random, random.between(2, 6), max_total);
    const Counts<Count>& counts = random_counts.counts;
    Options options;
    options.objective.criterion = criterion;
    const std::int64_t min_side = random.pick({1, 1, 4});
    const std::int64_t total = sum(counts.totals);
    const std::vector<ScoreKey> keys = score(options, min_side, counts, find_kernels("scalar"));
    for (std::size_t j = 0; j < keys.size(); ++j) {
        const std::int64_t n = n_true(counts, j);
        const bool admissible = std::min(n, total - n) >= min_side;
        CHECK(admissible == (keys[j] != kNoScoreKey));
        if (admissible) {
            const std::int64_t copy = keys[(j + random_counts.kColumns / 2) % random_counts.kColumns];
            CHECK(column_of(keys[j]) == static_cast<std::int32_t>(j));
            CHECK(keys[j] >> kColumnBits == copy >> kColumnBits, "a column and its copy");
            CHECK(keys[j] >> kColumnBits == keys[j ^ 1] >> kColumnBits, "a column and its complement");
            const double naive = naive_score(criterion, counts, j);
            // A gain is rounded once, to units; a ratio is as exact as its gain.
            const double tolerance = criterion == Criterion::gain_ratio ? 1e-6 * std::ldexp(1.0, kRatioBits) : 1.0;
            CHECK(std::abs(static_cast<double>(keys[j] >> kColumnBits) - naive) <= tolerance, naive);
        }
    }
}

// Tables of the kernels, 64-bit counts and counts that track rows lead to the same keys.
void test_paths_agree(Random& random, Criterion criterion, std::size_t max_total) {
    const RandomCounts<std::int32_t> narrow(random, random.between(1, 6), max_total);
    Options options;
    options.objective.criterion = criterion;
    const std::int64_t min_side = random.pick({1, 4, 1'000'000'000});
    const std::vector<ScoreKey> keys = score(options, min_side, narrow.counts, find_kernels("scalar"));
    for (const Kernels* kernels : available_kernels()) {
        CHECK(score(options, min_side, narrow.counts, *kernels) == keys, kernels->name);
    }

    Counts<std::int64_t> wide;
    std::vector<std::vector<std::int64_t>> wide_rows;
    for (const auto& row : narrow.storage) {
        wide_rows.emplace_back(row.data(), row.data() + narrow.kPadded);
    }
    for (const auto& row : wide_rows) {
        wide.rows.push_back(row.data());
    }
    wide.totals.assign(narrow.counts.totals.begin(), narrow.counts.totals.end());
    wide.class_index = narrow.counts.class_index;
    CHECK(score(options, min_side, wide, find_kernels("")) == keys);

    Counts<std::int32_t> with_rows = narrow.counts;
    std::vector<std::int32_t> rows;
    for (std::size_t j = 0; j < narrow.kPadded; ++j) {
        rows.push_back(static_cast<std::int32_t>(n_true(narrow.counts, j)));
    }
    with_rows.n_true = rows.data();
    with_rows.n_rows = sum(narrow.counts.totals);
    options.objective.min_rows = min_side;  // all weights are 1, so limits of rows and of weight are the same
    CHECK(score(options, 1, with_rows, find_kernels("")) == keys);
}

void test_key_order() {
    CHECK(make_score_key(2, 5) > make_score_key(1, 0), "a higher score comes first");
    CHECK(make_score_key(2, 4) > make_score_key(2, 5), "then a lower column");
    CHECK(make_score_key(0, static_cast<std::size_t>(kMaxColumns) - 1) > kNoScoreKey);
    CHECK(column_of(make_score_key(123456789, 42)) == 42);
    CHECK(round_gain(-(std::int64_t{1} << 40)) == 0, "gains below zero are rounding errors");
}

// Classes 0 and 2 of three are present; the third column has no row on one side.
void test_user_scores() {
    const std::vector<std::vector<std::int32_t>> rows = {{1, 2, 0, 3, 1}, {4, 0, 0, 1, 2}};
    Counts<std::int32_t> counts;
    counts.rows = {rows[0].data(), rows[1].data()};
    counts.totals = {4, 5};
    counts.class_index = {0, 2};
    std::vector<double> scores = {0.5, -std::numeric_limits<double>::infinity(), 99, 1e300, 0.5};
    std::vector<double> left;
    std::vector<double> right;
    Options options;
    options.objective.criterion = Criterion::user;
    options.objective.user_weight_unit = 0.5;
    options.objective.user_score = [&](const std::vector<double>& l, const std::vector<double>& r,
                                       const std::vector<bool>& admissible) {
        left = l;
        right = r;
        CHECK((admissible == std::vector<bool>{true, true, false, true, true}));
        return scores;
    };
    const Scorer scorer(options.objective, 5, 3, 9, 1, find_kernels(""));
    std::vector<ScoreKey> keys(16);
    scorer.keys(counts, 16, keys.data());
    CHECK((left == std::vector<double>{1.5, 0, 0.5, 1, 0, 2.5, 2, 0, 2.5, 0.5, 0, 2, 1.5, 0, 1.5}));
    CHECK((right == std::vector<double>{0.5, 0, 2, 1, 0, 0, 0, 0, 0, 1.5, 0, 0.5, 0.5, 0, 1}));
    std::vector<std::int64_t> expected(16, kNoScoreKey);
    expected[1] = make_score_key(0, 1);
    expected[0] = make_score_key(1, 0);
    expected[4] = make_score_key(1, 4);
    expected[3] = make_score_key(2, 3);
    CHECK(keys == expected);
    scores.pop_back();
    CHECK_THROWS(std::invalid_argument, scorer.keys(counts, 16, keys.data()));
}

}  // namespace

int main() {
    test_xlog2x();
    test_xlog2x_of_the_reference();
    test_key_order();
    test_user_scores();
    Random random(2);
    for (const Criterion criterion : {Criterion::entropy, Criterion::gini, Criterion::sqrt, Criterion::gain_ratio}) {
        for (int i = 0; i < 100; ++i) {
            // The table of logarithms ends at 2^16.
            const auto max_total = random.pick<std::size_t>({1, 5, 100, 20'000, 300'000'000});
            test_scores<std::int32_t>(random, criterion, max_total);
            test_scores<std::int64_t>(random, criterion, max_total * random.pick<std::size_t>({1, 1'000'000}));
            test_paths_agree(random, criterion, max_total);
        }
    }
    return check::report();
}
