// The candidates of a node against sorting, and columns that split its rows alike against the rows themselves.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"
#include "topk/data/node.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/parallel/stop.hpp"
#include "topk/search/candidates.hpp"

using namespace topk;

namespace {

using Rows = std::vector<std::size_t>;

bool naive_alike(const Problem& problem, const Rows& rows, std::size_t a, std::size_t b) {
    const auto differ = [&](std::size_t i) { return problem.rows[i][a] != problem.rows[i][b]; };
    return std::none_of(rows.begin(), rows.end(), differ) || std::all_of(rows.begin(), rows.end(), differ);
}

// Best first, each unlike those before it if that is asked for.
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

// Scores that are equal for columns which split the rows alike: counted from the rows, few different ones.
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

void test_random_problem(std::uint64_t seed) {
    Random random(seed);
    Problem problem = random_problem(random, random.between(1, 300), random.between(1, 40), random.pick({2, 3}));
    random_weights(random, random.pick({0, 0, 5}), random.pick({1, 3}), problem);
    const Kernels& kernels = find_kernels("scalar");
    Monitor monitor{std::function<void()>()};
    Ticker ticker(monitor);
    Counter<std::int64_t> counter(kernels, problem.class_weight, ticker);
    BitMatrix matrix;
    Node<std::int64_t> node;
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
    Rows all;
    for (std::size_t i = 0; i < problem.rows.size(); ++i) {
        all.push_back(i);
    }
    const std::size_t column = random.below(problem.n_columns);
    const bool value = random.chance(0.5);
    Rows part;
    std::copy_if(all.begin(), all.end(), std::back_inserter(part),
                 [&](std::size_t i) { return (problem.rows[i][column] != 0) == value; });
    for (std::size_t a = 0; a < problem.n_columns; ++a) {
        for (std::size_t b = 0; b < problem.n_columns; ++b) {
            CHECK(split_alike({matrix, node.subset}, a, b) == naive_alike(problem, all, a, b), "seed " << seed);
            CHECK(split_alike({matrix, node.subset, true, column, value}, a, b) == naive_alike(problem, part, a, b),
                  "seed " << seed);
        }
    }
    const std::size_t k = random.between(1, 12);
    std::vector<std::int64_t> best;
    std::vector<ScoreKey> keys = symmetric_keys(random, problem, all);
    best_keys(keys.data(), problem.n_columns, k, best);
    CHECK(best == naive_best(problem, all, keys, k, false), "seed " << seed);
    best_distinct_keys(keys.data(), problem.n_columns, k, node.counts, {matrix, node.subset}, true, best);
    CHECK(best == naive_best(problem, all, keys, k, true), "seed " << seed);
    for (std::size_t j = 0; j < keys.size(); ++j) {  // of a criterion that need not score them alike
        keys[j] = make_score_key(static_cast<std::int64_t>(random.below(5)), j);
    }
    best_distinct_keys(keys.data(), problem.n_columns, k, node.counts, {matrix, node.subset}, false, best);
    CHECK(best == naive_best(problem, all, keys, k, true), "seed " << seed);
}

}  // namespace

int main() {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        test_random_problem(seed);
    }
    return check::report();
}
