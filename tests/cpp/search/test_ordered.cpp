// Ordered groups against the definition, which sees every threshold as a column of its own.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/check.hpp"
#include "support/ordered.hpp"
#include "support/random_options.hpp"
#include "support/reference.hpp"
#include "topk/search/near_optimal.hpp"
#include "topk/search/search.hpp"

using namespace topk;

namespace {

// Few rows with many ranks, where most thresholds are not in the grid; many rows with few thresholds; and the other way
// round.
OrderedProblem random_shape(Random& random, Options& options) {
    const std::int32_t n_classes = random.pick({2, 2, 2, 3, 5, 40});
    const auto k = static_cast<std::int32_t>(random.pick({1, 2, 3, 4, 8, 20}));
    const bool is_large = random.chance(0.2);
    const std::size_t n_rows = is_large ? random.between(200, 400) : random.between(1, 120);
    const std::size_t max_ranks = random.pick<std::size_t>({3, 12, 40, 150});
    OrderedProblem problem = random_ordered(random, n_rows, random.between(1, 4), max_ranks, n_classes);
    const std::size_t most = is_large ? 2 : k > 4 ? 3 : 4;
    options.objective.k.assign(random.between(0, most), k);
    if (random.chance(0.2)) {
        for (std::int32_t& k_of_level : options.objective.k) {
            k_of_level = static_cast<std::int32_t>(random.between(1, 6));
        }
    } else if (random.chance(0.25)) {
        options.objective.k.assign(std::min<std::size_t>(options.objective.k.size(), max_ranks > 40 ? 1 : 2),
                                   INT32_MAX);
    }
    return problem;
}

void random_objective(Random& random, OrderedProblem& problem, Options& options) {
    random_weighting(random, problem.expanded);
    problem.bits.row_weight = problem.expanded.row_weight;
    problem.bits.class_weight = problem.expanded.class_weight;
    ::random_objective(random, problem.expanded, options);
    options.objective.criterion = random.pick({Criterion::entropy, Criterion::entropy, Criterion::entropy,
                                               Criterion::gini, Criterion::sqrt, Criterion::gain_ratio});
    options.objective.second_reading = problem.second;
    options.objective.draw = {};
    if (random.chance(0.3) && !problem.feature.empty()) {
        std::int32_t last = problem.feature.back();  // there may be groups without columns after it
        for (const OrderedGroup& group : problem.groups) {
            last = std::max(last, group.feature);
        }
        options.objective.draw = {random.between(1, 2), static_cast<std::size_t>(last) + 1, problem.feature,
                                  random.bits()};
        options.objective.lookahead = 0;
    }
}

void test_random_problem(std::uint64_t seed) {
    Random random(seed);
    Options options;
    OrderedProblem problem = random_shape(random, options);
    random_objective(random, problem, options);
    const Solution expected = Reference(problem.expanded, options).solve();
    for (int i = 0; i < 6; ++i) {
        random_switches(random, options);
        const Solution solution = solve(problem.data(), problem.for_groups(options));
        CHECK(same_tree(solution, expected), describe(seed, problem.expanded, options));
        CHECK(solution.complete);
    }
}

// Chains long enough to be cut into halves that several threads search at once.
void test_many_threads(std::uint64_t seed) {
    Random random(seed);
    Options options;
    const bool is_deep = random.chance(0.5);
    OrderedProblem problem = random_ordered(random, random.between(50, is_deep ? 100 : 300), random.between(1, 3),
                                            random.pick<std::size_t>({12, 150}), random.pick({2, 3}));
    options.objective.k.assign(is_deep ? 3 : 2, random.chance(0.8) ? INT32_MAX : 4);
    random_objective(random, problem, options);
    options.objective.draw = {};
    random_switches(random, options);
    options.tuning.threads = 1;
    const Solution expected = solve(problem.data(), problem.for_groups(options));
    options.tuning.threads = 8;
    options.tuning.task_cycles = random.pick({0, 0, 1000});
    for (int i = 0; i < 3; ++i) {
        CHECK(same_tree(solve(problem.data(), problem.for_groups(options)), expected),
              describe(seed, problem.expanded, options));
    }
}

// Many ranks without missing values, and no options that change which columns take a place: children are settled by
// what scored well in others.
void test_plain_problem(std::uint64_t seed) {
    Random random(seed);
    OrderedProblem problem = random_ordered(random, random.between(15, 250), random.between(1, 4),
                                            random.pick<std::size_t>({10, 20, 60, 120}), random.pick({2, 2, 3}), true);
    Options options;
    options.objective.k.assign(random.between(2, 3), static_cast<std::int32_t>(random.between(2, 5)));
    options.objective.leaf_penalty = random.pick({0, 0, 1, 3});
    options.objective.min_rows = random.pick({1, 1, 5});
    options.objective.distinct_splits = random.chance(0.3);
    const Solution expected = Reference(problem.expanded, options).solve();
    for (int i = 0; i < 3; ++i) {
        random_switches(random, options);
        const Solution solution = solve(problem.data(), problem.for_groups(options));
        CHECK(same_tree(solution, expected), describe(seed, problem.expanded, options));
    }
}

// The enumeration of expanded columns is compared with a list of all trees elsewhere.
void test_near_optimal(std::uint64_t seed) {
    Random random(seed);
    Options options;
    OrderedProblem problem =
        random_ordered(random, random.between(5, 40), random.between(1, 3), random.pick<std::size_t>({3, 8, 20}), 2);
    options.objective.k.assign(random.between(1, 3), random.pick({1, 2, 3, INT32_MAX}));
    if (options.objective.k[0] == INT32_MAX) {
        options.objective.k.resize(1);
    }
    random_objective(random, problem, options);
    const NearOptimalRequest request = {random.between(1, 30), 0.5, random.chance(0.3), random.chance(0.5)};
    random_switches(random, options);
    const std::vector<Solution> expected = near_optimal(problem.expanded.data(), options, request);
    random_switches(random, options);
    const std::vector<Solution> solutions = near_optimal(problem.data(), problem.for_groups(options), request);
    CHECK(solutions.size() == expected.size(), describe(seed, problem.expanded, options));
    for (std::size_t i = 0; i < std::min(solutions.size(), expected.size()); ++i) {
        CHECK(same_tree(solutions[i], expected[i]), "tree " << i << ", " << describe(seed, problem.expanded, options));
    }
}

}  // namespace

int main() {
    for (std::uint64_t seed = 0; seed < check::problems(1500); ++seed) {
        test_random_problem(seed);
    }
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        test_many_threads(seed);
    }
    for (std::uint64_t seed = 0; seed < check::problems(1500); ++seed) {
        test_plain_problem(seed);
    }
    for (std::uint64_t seed = 0; seed < check::problems(300); ++seed) {
        test_near_optimal(seed);
    }
    return check::report();
}
