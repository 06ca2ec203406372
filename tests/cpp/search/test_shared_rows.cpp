// Searches over some of the rows and columns of shared arrays, and rows sent down a tree.
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "support/random_options.hpp"
#include "support/reference.hpp"
#include "topk/data/walk.hpp"
#include "topk/search/search.hpp"

using namespace topk;

namespace {

// A problem stored among rows of weight 0 and columns that take no part.
struct Hidden {
    Problem problem;
    std::vector<std::int32_t> columns;

    Data data(bool as_flags) {
        Data data = as_flags ? problem.flag_data() : problem.data();
        data.n_stored = problem.n_columns;
        data.n_columns = columns.size();
        data.columns = columns;
        return data;
    }
};

Hidden hide(Random& random, const Problem& plain) {
    Hidden hidden;
    for (std::size_t j = 0, next = 0; j < plain.n_columns; ++next) {
        if (random.chance(0.6)) {
            hidden.columns.push_back(static_cast<std::int32_t>(next));
            ++j;
        }
    }
    Problem& problem = hidden.problem;
    problem.n_columns = (hidden.columns.empty() ? 0 : static_cast<std::size_t>(hidden.columns.back()) + 1) + 1;
    problem.n_classes = plain.n_classes;
    problem.class_weight = plain.class_weight;
    for (std::size_t i = 0; i < plain.rows.size();) {
        const bool is_there = random.chance(0.6);
        std::vector<std::uint8_t> row(problem.n_columns);
        for (std::uint8_t& value : row) {
            value = random.chance(0.5) ? 1 : 0;
        }
        for (std::size_t j = 0; j < plain.n_columns && is_there; ++j) {
            row[static_cast<std::size_t>(hidden.columns[j])] = plain.rows[i][j];
        }
        problem.rows.push_back(row);
        const auto any_class = static_cast<std::int32_t>(random.below(static_cast<std::size_t>(plain.n_classes)));
        problem.classes.push_back(is_there ? plain.classes[i] : any_class);
        problem.row_weight.push_back(!is_there ? 0 : plain.row_weight.empty() ? 1 : plain.row_weight[i]);
        i += is_there ? 1 : 0;
    }
    return hidden;
}

void test_hidden_problem(std::uint64_t seed) {
    Random random(seed);
    const std::size_t n_columns = random.pick<std::size_t>({0, 1, 5, 10, 70, 130});
    Problem plain = random_problem(random, random.between(1, 200), n_columns, random.pick({2, 2, 3, 9}));
    random_weighting(random, plain);
    Options options;
    options.objective.k.assign(random.between(0, 4), static_cast<std::int32_t>(random.between(1, 4)));
    random_objective(random, plain, options);
    const Solution expected = solve(plain.data(), options);
    Hidden hidden = hide(random, plain);
    for (int i = 0; i < 4; ++i) {
        random_switches(random, options);
        const Solution solution = solve(hidden.data(random.chance(0.5)), options);
        CHECK(same_tree(solution, expected), describe(seed, plain, options));
        CHECK(solution.n_wrong == expected.n_wrong, describe(seed, plain, options));
    }
}

void test_walk(std::uint64_t seed) {
    Random random(seed);
    Problem problem = random_problem(random, random.between(1, 200), random.between(0, 130), 2);
    Options options;
    options.objective.k.assign(random.between(0, 4), 2);
    const Solution tree = solve(problem.data(), options);
    std::vector<std::int32_t> leaves(problem.rows.size(), -1);
    const ColumnTree nodes = {tree.column, tree.false_child, tree.true_child};
    for (const bool as_flags : {false, true}) {
        walk(as_flags ? problem.flag_data() : problem.data(), nodes, leaves.data());
        for (std::size_t i = 0; i < leaves.size(); ++i) {
            std::size_t node = 0;
            while (tree.column[node] >= 0) {
                const bool is_true = problem.rows[i][static_cast<std::size_t>(tree.column[node])] == 1;
                node = static_cast<std::size_t>(is_true ? tree.true_child[node] : tree.false_child[node]);
            }
            CHECK(leaves[i] == static_cast<std::int32_t>(node));
        }
    }
}

void test_walk_refuses() {
    Problem problem = noise(20, 5);
    const Data data = problem.data();
    std::vector<std::int32_t> leaves(20);
    const std::vector<std::int32_t> none = {-1, -1, -1};
    const auto refuses = [&](const std::vector<std::int32_t>& column, const std::vector<std::int32_t>& false_child,
                             const std::vector<std::int32_t>& true_child) {
        try {
            walk(data, {column, false_child, true_child}, leaves.data());
        } catch (const std::invalid_argument&) {
            return true;
        }
        return false;
    };
    CHECK(!refuses({0, -1, -1}, {1, -1, -1}, {2, -1, -1}));
    CHECK(refuses({5, -1, -1}, {1, -1, -1}, {2, -1, -1}));   // a column that does not exist
    CHECK(refuses({-2, -1, -1}, {1, -1, -1}, {2, -1, -1}));  // the same
    CHECK(refuses({0, -1, -1}, {0, -1, -1}, {2, -1, -1}));   // its own child
    CHECK(refuses({0, -1, -1}, {1, -1, -1}, {3, -1, -1}));   // a child that does not exist
    CHECK(refuses({0, -1, -1}, {1, -1}, {2, -1, -1}));
    CHECK(refuses({}, {}, {}));
}

}  // namespace

int main() {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        test_hidden_problem(seed);
        test_walk(seed);
    }
    test_walk_refuses();
    return check::report();
}
