// The last level from counts, with children counted one by one or ahead, against sums over the rows.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/candidates/last_level.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"
#include "topk/data/node.hpp"

using namespace topk;

namespace {

using Rows = std::vector<std::size_t>;

struct Limits {
    std::int64_t min_weight;
    std::int64_t min_rows;
};

Rows side(const Problem& problem, const Rows& rows, std::size_t column, bool value) {
    Rows out;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(out),
                 [&](std::size_t i) { return (problem.rows[i][column] != 0) == value; });
    return out;
}

struct Weights {
    std::int64_t total = 0;
    std::int64_t errors = 0;
};

Weights weigh(const Problem& problem, const Rows& rows) {
    std::vector<std::int64_t> weights(static_cast<std::size_t>(problem.n_classes), 0);
    for (const std::size_t i : rows) {
        weights[static_cast<std::size_t>(problem.classes[i])] += problem.weight(i);
    }
    const std::int64_t total = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
    return {total, total - *std::max_element(weights.begin(), weights.end())};
}

// The fewest errors of a split, over all columns; numeric max of Count if no column can split the rows.
template <class Count>
std::int64_t naive_fewest(const Problem& problem, const Rows& rows, Limits limits) {
    std::int64_t fewest = std::numeric_limits<Count>::max();
    for (std::size_t j = 0; j < problem.n_columns; ++j) {
        const Rows sides[2] = {side(problem, rows, j, false), side(problem, rows, j, true)};
        const Weights weights[2] = {weigh(problem, sides[0]), weigh(problem, sides[1])};
        if (std::min(weights[0].total, weights[1].total) >= limits.min_weight &&
            static_cast<std::int64_t>(std::min(sides[0].size(), sides[1].size())) >= limits.min_rows) {
            fewest = std::min(fewest, weights[0].errors + weights[1].errors);
        }
    }
    return fewest;
}

template <class Count>
void check_split(const Problem& problem, const Rows& rows, const Node<Count>& node, std::int32_t column, Limits limits,
                 LastLevel<Count>& last, Counter<Count>& counter) {
    const Split<Count> split_on(node, column);
    const auto j_split = static_cast<std::size_t>(column);
    const Rows children[2] = {side(problem, rows, j_split, split_on.small_side()),
                              side(problem, rows, j_split, !split_on.small_side())};
    last.open(node, split_on);
    const Fewest<Count> fewest = last.count(node, split_on, counter);
    for (int i = 0; i < 2; ++i) {
        const Weights leaf = weigh(problem, children[i]);
        const std::int64_t free = naive_fewest<Count>(problem, children[i], {0, 0});
        const std::int64_t of = naive_fewest<Count>(problem, children[i], limits);
        CHECK(std::min<std::int64_t>(fewest.of[i], leaf.errors) == std::min(of, leaf.errors),
              "column " << column << ", child " << i);
        CHECK(std::min<std::int64_t>(fewest.free[i], leaf.errors) == std::min(free, leaf.errors),
              "column " << column << ", child " << i);
    }
    std::vector<std::int64_t> n_true(problem.n_columns, 0);
    for (const Count* row : last.small_rows()) {
        for (std::size_t j = 0; j < problem.n_columns && row != nullptr; ++j) {
            n_true[j] += row[j];
        }
    }
    for (std::size_t j = 0; j < problem.n_columns; ++j) {
        CHECK(n_true[j] == weigh(problem, side(problem, children[0], j, true)).total, "column " << column);
    }
}

// A node of all rows of a problem, or of one side of a column.
template <class Count>
struct RandomNode {
    RandomNode(Random& random, Problem& problem, const Kernels& kernels, Ticker& ticker) : rows(problem.rows.size()) {
        build_matrix(problem.data(), {.arrange = random.pick({Arrange::never, Arrange::always})}, kernels, ticker,
                     matrix, node.subset);
        std::iota(rows.begin(), rows.end(), std::size_t{0});
        node.matrix = &matrix;
        if (random.chance(0.5)) {
            const std::size_t column = random.below(problem.n_columns);
            const Subset all = node.subset;
            split(matrix, all, column, false, node.subset);
            rows = side(problem, rows, static_cast<std::size_t>(column), false);
        }
        for (std::int32_t c = 0; c < problem.n_classes; ++c) {
            Rows of_class;
            std::copy_if(rows.begin(), rows.end(), std::back_inserter(of_class),
                         [&](std::size_t i) { return problem.classes[i] == c; });
            if (!of_class.empty()) {
                add_total(node, c, static_cast<Count>(weigh(problem, of_class).total));
            }
        }
    }

    Rows rows;
    BitMatrix matrix;
    Node<Count> node;
};

// At most eight columns, in random order.
std::vector<std::int32_t> random_columns(Random& random, std::size_t n_columns) {
    std::vector<std::int32_t> columns(n_columns);
    std::iota(columns.begin(), columns.end(), 0);
    for (std::size_t i = columns.size() - 1; i > 0; --i) {
        std::swap(columns[i], columns[random.below(i + 1)]);
    }
    columns.resize(std::min<std::size_t>(columns.size(), 8));
    return columns;
}

template <class Count>
void test_node(Random& random, Problem& problem, Limits limits, const Kernels& kernels) {
    Monitor monitor({});
    Ticker ticker(monitor);
    RandomNode<Count> random_node(random, problem, kernels, ticker);
    Node<Count>& node = random_node.node;
    Counter<Count> counter(kernels, problem.class_weight, ticker);
    const bool track_rows = limits.min_rows > 1;
    count_node(node, counter, track_rows);
    const Objective objective;
    const Scorer scorer(objective, problem.n_columns, problem.n_classes, problem.total_weight(), limits.min_weight,
                        kernels);
    LastLevel<Count> last(kernels, scorer, {limits.min_weight, limits.min_rows, track_rows, 0}, objective);
    if (!track_rows) {  // fewest_errors() is not for tracked rows
        const std::int64_t leaf = weigh(problem, random_node.rows).errors;
        const std::int64_t fewest = naive_fewest<Count>(problem, random_node.rows, limits);
        CHECK(std::min<std::int64_t>(last.fewest_errors(node), leaf) == std::min(fewest, leaf), kernels.name);
    }
    const std::vector<std::int32_t> columns = random_columns(random, problem.n_columns);
    for (const bool ahead : {false, true, false}) {
        if (ahead) {
            last.count_ahead(node, std::span(columns).first((columns.size() + 1) / 2), counter);
        } else {
            last.begin(node);
        }
        for (std::size_t i = 0; i < columns.size(); ++i) {
            CHECK(last.is_ahead(columns[i]) == (ahead && i < (columns.size() + 1) / 2));
            check_split(problem, random_node.rows, node, columns[i], limits, last, counter);
        }
    }
}

}  // namespace

int main() {
    for (const Kernels* kernels : available_kernels()) {
        for (std::uint64_t seed = 0; seed < 80; ++seed) {
            Random random(seed);
            Problem problem = random_problem(random, random.between(1, random.pick<std::size_t>({10, 150})),
                                             random.pick<std::size_t>({1, 4, 16, 17}), random.pick({1, 2, 3, 10}));
            const bool weighted = random.chance(0.5);
            random_weights(random, weighted ? 9 : 0, weighted ? 3 : 1, problem);
            const Limits limits = {random.pick({1, 1, 2, 10, 100'000}), weighted ? random.pick({1, 1, 3}) : 1};
            test_node<std::int32_t>(random, problem, limits, *kernels);
            test_node<std::int64_t>(random, problem, limits, *kernels);
        }
    }
    return check::report();
}
