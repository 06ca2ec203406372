// The n best trees against a list of all trees of the search space, on random problems and under every switch.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "support/crafted.hpp"
#include "support/problems.hpp"
#include "support/random_options.hpp"
#include "support/reference.hpp"
#include "topk/bounds/incumbent.hpp"
#include "topk/search/near_optimal.hpp"
#include "topk/search/search.hpp"

using namespace topk;

namespace {

// All trees in order, and what each of them predicts for every row. Nothing is pruned.
class AllTrees : private Reference {
  public:
    using Reference::Reference;

    std::vector<Solution> first(const NearOptimalRequest& request) const {
        std::vector<std::size_t> rows(problem_.rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i] = i;
        }
        const std::vector<Any> trees = every(rows, 0);
        const std::int64_t limit = cost_limit(trees[0].cost, options_.objective.cost_scale, request);
        std::set<std::vector<std::int32_t>> seen;
        std::vector<Solution> solutions;
        for (const Any& tree : trees) {
            if (tree.cost > limit || solutions.size() == request.n) {
                break;
            }
            if (!request.distinct_predictions || seen.insert(tree.predicted).second) {
                solutions.emplace_back().cost = tree.cost;
                append_any(*tree.node, solutions.back());
            }
        }
        return solutions;
    }

  private:
    struct AnyNode {
        Tree facts;  // as a leaf
        std::int32_t column = -1;
        std::shared_ptr<const AnyNode> child[2];
    };
    struct Any {
        std::int64_t cost;
        std::vector<std::int32_t> predicted;  // per row of the problem, -1 for rows outside of the node
        std::shared_ptr<const AnyNode> node;
    };

    std::vector<Any> every(const std::vector<std::size_t>& rows, std::size_t level) const {
        const auto here = std::make_shared<AnyNode>();
        here->facts = leaf(rows);
        const std::vector<std::int64_t>& weights = here->facts.class_weight;
        Any alone = {here->facts.cost, std::vector<std::int32_t>(problem_.rows.size(), -1), here};
        for (const std::size_t i : rows) {
            alone.predicted[i] =
                static_cast<std::int32_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
        }
        std::vector<Any> trees = {alone};
        if (level == options_.objective.k.size() ||
            std::count_if(weights.begin(), weights.end(), [](auto w) { return w > 0; }) == 1) {
            return trees;
        }
        for (const std::int32_t column :
             chosen(rows, here->facts, static_cast<std::size_t>(options_.objective.k[level]), level)) {
            std::vector<std::size_t> sides[2];
            for (const std::size_t i : rows) {
                sides[problem_.rows[i][static_cast<std::size_t>(column)]].push_back(i);
            }
            const std::vector<Any> of_true = every(sides[1], level + 1);
            for (const Any& a : every(sides[0], level + 1)) {
                for (const Any& b : of_true) {
                    trees.push_back(joined(rows, column, a, b));
                }
            }
        }
        std::stable_sort(trees.begin(), trees.end(), [](const Any& a, const Any& b) { return a.cost < b.cost; });
        return trees;
    }

    Any joined(const std::vector<std::size_t>& rows, std::int32_t column, const Any& a, const Any& b) const {
        const auto node = std::make_shared<AnyNode>();
        node->facts = leaf(rows);
        node->column = column;
        node->child[0] = a.node;
        node->child[1] = b.node;
        Any both = {a.cost + b.cost, a.predicted, node};
        for (std::size_t i = 0; i < both.predicted.size(); ++i) {
            both.predicted[i] = std::max(both.predicted[i], b.predicted[i]);
        }
        return both;
    }

    static std::int32_t append_any(const AnyNode& node, Solution& solution) {
        const std::size_t index = solution.column.size();
        solution.column.push_back(node.column);
        solution.false_child.push_back(-1);
        solution.true_child.push_back(-1);
        solution.n_rows.push_back(node.facts.n_rows);
        const std::vector<std::int64_t>& weights = node.facts.class_weight;
        solution.class_weight.insert(solution.class_weight.end(), weights.begin(), weights.end());
        if (node.column != -1) {
            const std::int32_t false_child = append_any(*node.child[0], solution);
            const std::int32_t true_child = append_any(*node.child[1], solution);
            solution.false_child[index] = false_child;
            solution.true_child[index] = true_child;
        }
        return static_cast<std::int32_t>(index);
    }
};

// Few enough trees to list them all: with t trees per child, k candidates make 1 + k * t^2 trees.
void random_shape(Random& random, Problem& problem, Options& options) {
    problem = random_problem(random, random.between(1, 40), random.between(0, 7), random.pick({2, 2, 3, 5, 40}));
    options.objective.k.assign(random.between(0, 3), static_cast<std::int32_t>(random.between(1, 2)));
    if (options.objective.k.size() == 2) {
        options.objective.k = {static_cast<std::int32_t>(random.between(1, 7)),
                               static_cast<std::int32_t>(random.between(1, 7))};
    } else if (options.objective.k.size() == 3 && random.chance(0.5)) {
        options.objective.k = {2, 2, 3};
    }
    if (options.objective.k.size() < 3 && random.chance(0.3)) {
        options.objective.k.assign(options.objective.k.size(), INT32_MAX);
    }
}

void check_same(const std::vector<Solution>& found, const std::vector<Solution>& expected, const std::string& what) {
    CHECK(found.size() == expected.size(), found.size() << " trees, not " << expected.size() << "; " << what);
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
        CHECK(same_tree(found[i], expected[i]) && found[i].complete, "tree " << i << "; " << what);
    }
}

void test_random_problem(std::uint64_t seed) {
    Random random(seed);
    Problem problem;
    Options options;
    random_shape(random, problem, options);
    random_weighting(random, problem);
    random_objective(random, problem, options);
    NearOptimalRequest request;
    request.n = random.pick<std::size_t>({1, 2, 3, 10, 50, 100'000});
    request.epsilon = random.pick({0.0, 0.1, 0.5, 1.0, 1e300});
    request.errors_only = random.chance(0.3);
    request.distinct_predictions = random.chance(0.5);
    const std::vector<Solution> expected = AllTrees(problem, options).first(request);
    for (int i = 0; i < 4; ++i) {
        random_switches(random, options);
        const Data data = random.chance(0.5) ? problem.data() : problem.flag_data();
        check_same(near_optimal(data, options, request), expected, describe(seed, problem, options));
        if (i == 0) {
            CHECK(same_tree(solve(data, options), expected[0]), describe(seed, problem, options));
        }
    }
}

// The trees that split on column 0 and on column 1 predict different classes, for rows whose unsalted fingerprints
// cancel.
void test_crafted_problem() {
    Problem problem = crafted_problem();
    Options options;
    options.objective.k = {INT32_MAX};
    const NearOptimalRequest request = {.n = 100, .epsilon = 10, .errors_only = false, .distinct_predictions = true};
    const std::vector<Solution> expected = AllTrees(problem, options).first(request);
    check_same(near_optimal(problem.data(), options, request), expected, "crafted");
}

// Too many trees to list: the n best trees are the same with and without shortcuts, and a smaller n gives the first of
// them.
void test_larger_problem(std::uint64_t seed) {
    Random random(seed);
    Problem problem = random_problem(random, random.between(50, 300), random.between(10, 70), random.pick({2, 3}));
    Options options;
    options.objective.k.assign(random.between(2, 4), static_cast<std::int32_t>(random.between(2, 4)));
    if (random.chance(0.2)) {
        options.objective.k.assign(2, INT32_MAX);
    }
    random_weighting(random, problem);
    random_objective(random, problem, options);
    NearOptimalRequest request = {random.between(2, 60), random.pick({0.05, 0.3}), false, random.chance(0.5)};
    options.tuning.use_cache = false;
    options.tuning.use_bounds = false;
    const std::vector<Solution> expected = near_optimal(problem.data(), options, request);
    for (int i = 0; i < 3; ++i) {
        random_switches(random, options);
        check_same(near_optimal(problem.data(), options, request), expected, describe(seed, problem, options));
    }
    request.n = (expected.size() + 1) / 2;
    check_same(near_optimal(problem.data(), options, request),
               {expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(request.n)},
               describe(seed, problem, options));
}

void test_cost_limit() {
    const auto limit = [](std::int64_t best, std::int64_t scale, double epsilon, bool errors_only) {
        return cost_limit(best, scale, {.epsilon = epsilon, .errors_only = errors_only});
    };
    CHECK(limit(0, 1, 10, false) == 0);
    CHECK(limit(100, 7, 0, false) == 100);
    CHECK(limit(100, 1, 0.05, false) == 105);   // the double is a little above 1/20
    CHECK(limit(1000, 1, 0.3, false) == 1299);  // and this one below 3/10
    CHECK(limit(7, 1, 0.5, false) == 10);
    CHECK(limit(7, 1, 2, false) == 21);
    CHECK(limit(7, 1, 0x1p60, false) == kInfinity);
    CHECK(limit(1, 1, 0x1p60, false) == (std::int64_t{1} << 60) + 1);
    CHECK(limit(1, 1, 1e300, false) == kInfinity);
    CHECK(limit(0, 5, 1e300, true) == 4);
    CHECK(limit(123, 100, 0.99, true) == 199);
    CHECK(limit(123, 100, 1, true) == 299);
    const std::int64_t large = (std::int64_t{1} << 58) + 1;
    CHECK(limit(large, 1, 0x1p-58, false) == large + 1);
    CHECK(limit(large, 1, 0x1p-59, false) == large);
    CHECK(limit(large, 1, 5e-324, false) == large);
    CHECK(limit(large, 1, 1 - 0x1p-53, false) == 2 * large - 1 - (std::int64_t{1} << 5));
    CHECK(limit(large, 1 << 20, 1e9, true) == kInfinity);
}

void test_invalid_wishes() {
    Problem problem = noise(10, 3);
    Options options;
    options.objective.k = {2};
    const Data data = problem.data();
    CHECK_THROWS(std::invalid_argument, near_optimal(data, options, {.n = 0}));
    CHECK_THROWS(std::invalid_argument, near_optimal(data, options, {.epsilon = -0.1}));
    CHECK_THROWS(std::invalid_argument, near_optimal(data, options, {.epsilon = INFINITY}));
    CHECK_THROWS(std::invalid_argument, near_optimal(data, options, {.epsilon = NAN}));
    options.objective.k = {0};
    CHECK_THROWS(std::invalid_argument, near_optimal(data, options, {}));
}

// Whenever the time limit is reached, the first tree is the best one that was found, and the others are in order.
void test_time_limit(double seconds) {
    Problem problem = noise(500, 40);
    Options options;
    options.objective.k.assign(4, 10);
    options.tuning.time_limit = seconds;
    const std::vector<Solution> trees = near_optimal(problem.data(), options, {.n = 1'000'000'000, .epsilon = 10});
    CHECK(!trees.empty() && !trees[0].complete);
    if (trees.size() > 1) {
        options.tuning.time_limit = 0;
        CHECK(same_tree(trees[0], solve(problem.data(), options)));
    }
    for (std::size_t i = 1; i < trees.size(); ++i) {
        CHECK(trees[i].cost >= trees[i - 1].cost && !trees[i].complete);
    }
}

void test_interrupt() {
    Problem problem = noise(500, 40);
    Options options;
    options.objective.k.assign(4, 10);
    options.callbacks.poll = [](const Progress&) { throw std::domain_error("enough"); };
    CHECK_THROWS(std::domain_error, near_optimal(problem.data(), options, {.n = 1'000'000'000, .epsilon = 10}));
}

}  // namespace

int main() {
    test_cost_limit();
    test_invalid_wishes();
    test_crafted_problem();
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        test_random_problem(seed);
    }
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        test_larger_problem(seed);
    }
    for (const double seconds : {1e-9, 0.05, 0.2, 0.4}) {
        test_time_limit(seconds);
    }
    test_interrupt();
    return check::report();
}
