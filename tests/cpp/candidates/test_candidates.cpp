// The candidates of a node against sorting, and columns that divide its rows alike against the rows themselves.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/candidates/candidates.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"
#include "topk/data/node.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/parallel/stop.hpp"

using namespace topk;

namespace {

using Rows = std::vector<std::size_t>;

bool naive_alike(const Problem& problem, const Rows& rows, std::size_t a, std::size_t b) {
    const auto differ = [&](std::size_t i) { return problem.rows[i][a] != problem.rows[i][b]; };
    return std::none_of(rows.begin(), rows.end(), differ) || std::all_of(rows.begin(), rows.end(), differ);
}

// The k best keys, best first; with `distinct`, columns that divide the rows like an earlier one are left out.
std::vector<std::int64_t> naive_best(const Problem& problem, const Rows& rows, std::vector<ScoreKey> keys,
                                     std::size_t k, bool distinct) {
    std::sort(keys.begin(), keys.end(), std::greater<>());
    std::vector<std::int64_t> best;
    for (const ScoreKey key : keys) {
        const auto column = static_cast<std::size_t>(column_of(key));
        const auto is_alike = [&](std::int64_t other) {
            return naive_alike(problem, rows, column, static_cast<std::size_t>(column_of(other)));
        };
        if (key != kNoScoreKey && best.size() < k && !(distinct && std::any_of(best.begin(), best.end(), is_alike))) {
            best.push_back(key);
        }
    }
    return best;
}

// Keys with few different scores, which are equal for columns that divide the rows alike.
std::vector<std::int64_t> symmetric_keys(Random& random, const Problem& problem, const Rows& rows) {
    std::vector<ScoreKey> keys;
    for (std::size_t j = 0; j < problem.n_columns; ++j) {
        std::int64_t balance = 0;
        for (const std::size_t i : rows) {
            balance += problem.rows[i][j] != 0 ? 1 : -1;
        }
        keys.push_back(random.chance(0.1) ? kNoScoreKey : make_score_key(std::abs(balance) / 3, j));
    }
    return keys;
}

// The root of a problem, with its columns counted.
struct Root {
    Root(Random& random, Problem& problem) {
        const Kernels& kernels = find_kernels("scalar");
        Monitor monitor{std::function<void()>()};
        Ticker ticker(monitor);
        Counter<std::int64_t> counter(kernels, problem.class_weight, ticker);
        const MatrixExtras extras = {.arrange = random.pick({Arrange::never, Arrange::always})};
        build_matrix(problem.data(), extras, kernels, ticker, matrix, node.subset);
        node.matrix = &matrix;
        for (std::int32_t c = 0; c < problem.n_classes; ++c) {
            std::int64_t total = 0;
            for (std::size_t i = 0; i < problem.rows.size(); ++i) {
                total += problem.classes[i] == c ? problem.weight(i) : 0;
            }
            if (total > 0) {
                add_total(node, c, total);
            }
        }
        count_node(node, counter, false);
    }

    BitMatrix matrix;
    Node<std::int64_t> node;
};

// All rows, and those on one side of a column.
void check_split_alike(Random& random, const Problem& problem, const Root& root, const Rows& all) {
    const std::size_t column = random.below(problem.n_columns);
    const bool value = random.chance(0.5);
    Rows part;
    std::copy_if(all.begin(), all.end(), std::back_inserter(part),
                 [&](std::size_t i) { return (problem.rows[i][column] != 0) == value; });
    const RowSet all_rows = {root.matrix, root.node.subset};
    const RowSet rows_of_side = {root.matrix, root.node.subset, root.matrix.column(column), value};
    for (std::size_t a = 0; a < problem.n_columns; ++a) {
        for (std::size_t b = 0; b < problem.n_columns; ++b) {
            const ColumnBits bits_a = root.matrix.column(a);
            const ColumnBits bits_b = root.matrix.column(b);
            CHECK(split_alike(all_rows, bits_a, bits_b) == naive_alike(problem, all, a, b), a << " and " << b);
            CHECK(split_alike(rows_of_side, bits_a, bits_b) == naive_alike(problem, part, a, b), a << " and " << b);
        }
    }
}

// One column for each run that divides the rows alike: the k best are those that are among the k best of all columns.
void check_merged(const Problem& problem, const Root& root, const Rows& all, std::size_t k) {
    const RowSet rows = {root.matrix, root.node.subset};
    std::vector<ScoreKey> keys;
    for (std::size_t j = 0; j < problem.n_columns; ++j) {
        const auto is_true = [&](std::size_t i) { return problem.rows[i][j] != 0; };
        const std::ptrdiff_t n_true = std::count_if(all.begin(), all.end(), is_true);
        const std::int64_t smaller = std::min<std::int64_t>(n_true, std::ssize(all) - n_true);
        keys.push_back(smaller == 0 ? kNoScoreKey : make_score_key(smaller / 3, j));
    }
    const std::vector<ScoreKey> best_of_all = naive_best(problem, all, keys, k, false);
    std::vector<std::size_t> kept;
    std::vector<std::int64_t> copies;
    list_distinct(root.node.counts, rows, kept, copies);
    std::vector<ScoreKey> merged;
    std::vector<std::size_t> expected;
    for (const std::size_t j : kept) {
        const bool is_column = keys[j] != kNoScoreKey;
        merged.push_back(is_column ? make_score_key(score_of(keys[j]), merged.size()) : kNoScoreKey);
    }
    for (const ScoreKey key : best_of_all) {
        const auto column = static_cast<std::size_t>(column_of(key));
        if (std::binary_search(kept.begin(), kept.end(), column)) {
            expected.push_back(column);
        }
    }
    for (const Kernels* kernels : available_kernels()) {
        std::vector<ScoreKey> best;
        best_keys(merged.data(), merged.size(), {k, {}, copies, kernels}, best);
        std::vector<std::size_t> columns;
        for (const ScoreKey key : best) {
            columns.push_back(kept[static_cast<std::size_t>(column_of(key))]);
        }
        CHECK(columns == expected, kernels->name << ": " << k << " of " << kept.size() << " columns");
    }
}

void test_random_problem(std::uint64_t seed) {
    Random random(seed);
    Problem problem = random_problem(random, random.between(1, 300), random.between(1, 40), random.pick({2, 3}));
    random_weights(random, random.pick({0, 0, 5}), random.pick({1, 3}), problem);
    const Root root(random, problem);
    Rows all(problem.rows.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    check_split_alike(random, problem, root, all);
    const RowSet rows = {root.matrix, root.node.subset};
    const std::size_t k = random.between(1, 12);
    std::vector<ScoreKey> best;
    std::vector<ScoreKey> keys = symmetric_keys(random, problem, all);
    best_keys(keys.data(), problem.n_columns, {k}, best);
    CHECK(best == naive_best(problem, all, keys, k, false), "seed " << seed);
    check_merged(problem, root, all, k);
    best_distinct_keys(keys.data(), problem.n_columns, {k}, root.node.counts, rows, true, best);
    CHECK(best == naive_best(problem, all, keys, k, true), "seed " << seed);
    for (std::size_t j = 0; j < keys.size();
         ++j) {  // a criterion that scores columns that divide the rows alike differently
        keys[j] = make_score_key(static_cast<std::int64_t>(random.below(5)), j);
    }
    best_distinct_keys(keys.data(), problem.n_columns, {k}, root.node.counts, rows, false, best);
    CHECK(best == naive_best(problem, all, keys, k, true), "seed " << seed);
}

}  // namespace

int main() {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        test_random_problem(seed);
    }
    return check::report();
}
