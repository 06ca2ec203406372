// The search against the definition, tree for tree, on random problems of every kind and under every switch.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "support/check.hpp"
#include "support/crafted.hpp"
#include "support/problems.hpp"
#include "support/random_options.hpp"
#include "support/reference.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/search/search.hpp"

using namespace topk;

namespace {

// Small problems of all kinds, deep ones that share subsets, and wide ones whose k is large enough for compaction.
void random_shape(Random& random, Problem& problem, Options& options) {
    const std::int32_t n_classes = random.pick({2, 2, 2, 3, 5, 40});
    const auto k = static_cast<std::int32_t>(random.between(1, 4));
    const std::size_t kind = random.below(10);
    if (kind == 0) {
        problem = random_problem(random, random.between(1, 100), random.between(100, 150), n_classes);
        options.objective.k.assign(random.between(1, 2), 8 * k);
    } else if (kind <= 4) {
        problem = random_problem(random, random.between(1, 300), random.between(3, 12), n_classes);
        options.objective.k.assign(random.between(3, 5), k);
    } else {
        problem = random_problem(random, random.between(1, 40), random.between(0, 10), n_classes);
        options.objective.k.assign(random.between(0, 4), k);
    }
    if (random.chance(0.2)) {
        for (std::int32_t& k_of_level : options.objective.k) {
            k_of_level = static_cast<std::int32_t>(random.between(1, 6));
        }
    } else if (random.chance(0.25) && problem.n_columns <= 12) {
        options.objective.k.assign(std::min<std::size_t>(options.objective.k.size(), 3), INT32_MAX);
    }
}

void test_random_problem(std::uint64_t seed) {
    Random random(seed);
    Problem problem;
    Options options;
    random_shape(random, problem, options);
    random_weighting(random, problem);
    random_objective(random, problem, options);
    const Solution expected = Reference(problem, options).solve();
    for (int i = 0; i < 6; ++i) {
        random_switches(random, options);
        const Solution solution = solve(random.chance(0.5) ? problem.data() : problem.flag_data(), options);
        CHECK(same_tree(solution, expected), describe(seed, problem, options));
        CHECK(solution.complete && solution.statistics.kernel == options.tuning.kernel);
        CHECK(solution.statistics.cache_bytes <=
              static_cast<std::int64_t>(options.tuning.use_cache ? options.tuning.cache_bytes : 0));
    }
}

// All columns as candidates: many thresholds of a few features, categories, copies and complements, where tried splits
// bound others. Some levels may be narrower.
void test_all_columns(std::uint64_t seed) {
    Random random(seed);
    const std::size_t depth = random.chance(0.15) ? 3 : 2;
    Problem problem = random_problem(random, random.between(5, depth == 3 ? 20 : 80), random.between(50, 60), 2);
    for (std::size_t first = 0; first + 20 <= problem.n_columns && random.chance(0.8); first += 20) {
        for (auto& row : problem.rows) {
            const std::size_t value = random.below(21);
            const bool nested = first != 20;
            for (std::size_t j = 0; j < 20; ++j) {
                row[first + j] = (nested ? value <= j : value == j) ? 1 : 0;
            }
        }
    }
    Options options;
    options.objective.k.assign(depth, INT32_MAX);
    if (random.chance(0.3)) {
        options.objective.k[random.below(depth)] = 7;
    }
    random_weighting(random, problem);
    random_objective(random, problem, options);
    const Solution expected = Reference(problem, options).solve();
    for (int i = 0; i < 4; ++i) {
        random_switches(random, options);
        options.tuning.use_bounds = i > 0;
        CHECK(same_tree(solve(problem.data(), options), expected), describe(seed, problem, options));
    }
}

// Thresholds of features with few values: in the nodes below the root many columns divide the rows like a neighbour or
// its complement, and the k best columns end within such a run.
void test_merged_columns(std::uint64_t seed) {
    Random random(seed);
    Problem problem = random_problem(random, random.between(20, 150), random.between(33, 80), random.pick({2, 3}));
    const std::size_t n_features = random.between(2, 6);
    for (std::size_t i = 0; i < problem.rows.size(); ++i) {
        std::vector<std::size_t> value(n_features);
        std::generate(value.begin(), value.end(), [&] { return random.below(40); });
        for (std::size_t j = 0; j < problem.n_columns; ++j) {
            const bool flip = j % 7 == 0;
            problem.rows[i][j] = (value[j * n_features / problem.n_columns] > j % 40) != flip ? 1 : 0;
        }
    }
    Options options;
    options.objective.k.assign(random.between(3, 4), random.pick({2, 3, 5}));
    random_weighting(random, problem);
    random_objective(random, problem, options);
    options.objective.second_reading.clear();  // these rule out that columns are merged
    options.objective.draw = {};
    const Solution expected = Reference(problem, options).solve();
    for (int i = 0; i < 4; ++i) {
        random_switches(random, options);
        options.tuning.passes_to_compact = i > 0 ? 0 : 1e9;
        CHECK(same_tree(solve(problem.data(), options), expected), describe(seed, problem, options));
    }
}

// With all columns as candidates, every node is solved with one level less first. This nests: from depth 4 on, a
// shallower search starts shallower searches of its own. Returns the nodes examined with and without it.
std::array<std::int64_t, 2> test_shallow_first(std::uint64_t seed) {
    Random random(seed);
    Problem problem = random_problem(random, random.between(5, 60), random.between(2, 5), random.pick({2, 2, 3}));
    Options options;
    options.objective.k.assign(random.between(3, 5), INT32_MAX);
    if (random.chance(0.2)) {
        options.objective.k[random.below(options.objective.k.size())] = 1;
    }
    random_weighting(random, problem);
    random_objective(random, problem, options);
    const Solution expected = Reference(problem, options).solve();
    std::array<std::int64_t, 2> nodes = {};
    for (int i = 0; i < 6; ++i) {
        random_switches(random, options);
        options.tuning.use_bounds = true;
        options.tuning.shallow_first_columns = i % 2 == 0 ? 0 : SIZE_MAX;
        const Solution solution = solve(problem.data(), options);
        CHECK(same_tree(solution, expected), describe(seed, problem, options));
        nodes[static_cast<std::size_t>(i % 2)] += solution.statistics.nodes;
    }
    return nodes;
}

void test_shallow_first() {
    std::array<std::int64_t, 2> nodes = {};
    for (std::uint64_t seed = 0; seed < check::problems(300); ++seed) {
        const std::array<std::int64_t, 2> more = test_shallow_first(seed);
        nodes[0] += more[0];
        nodes[1] += more[1];
    }
    CHECK(nodes[0] != nodes[1], "the option has no effect: " << nodes[0] << " nodes either way");
}

// The cost of the best tree of some rows, given as bits, over all columns. Nothing is scored or bounded.
class BestCost {
  public:
    BestCost(const Problem& problem, int min_rows) : problem_(problem), min_rows_(min_rows) {
        for (std::size_t j = 0; j < problem.n_columns; ++j) {
            columns_.push_back(0);
            for (std::size_t i = 0; i < problem.rows.size(); ++i) {
                columns_.back() |= std::uint32_t{problem.rows[i][j]} << i;
            }
        }
        std::sort(columns_.begin(), columns_.end());
        columns_.erase(std::unique(columns_.begin(), columns_.end()), columns_.end());
    }

    std::int64_t operator()(std::uint32_t rows, std::size_t height) {
        const auto [at, is_new] = known_.try_emplace({rows, height}, errors(rows));
        std::int64_t best = at->second;
        if (is_new && best > 0 && height > 0) {
            for (const std::uint32_t column : columns_) {
                const std::uint32_t on_true = rows & column;
                if (std::min(std::popcount(on_true), std::popcount(rows ^ on_true)) >= min_rows_) {
                    best = std::min(best, (*this)(on_true, height - 1) + (*this)(rows ^ on_true, height - 1));
                }
            }
            known_[{rows, height}] = best;
        }
        return best;
    }

  private:
    std::int64_t errors(std::uint32_t rows) const {
        std::vector<std::int64_t> weights(static_cast<std::size_t>(problem_.n_classes), 0);
        std::int64_t total = 0;
        for (std::size_t i = 0; i < problem_.rows.size(); ++i) {
            if ((rows >> i & 1) != 0) {
                weights[static_cast<std::size_t>(problem_.classes[i])] += problem_.weight(i);
                total += problem_.weight(i);
            }
        }
        return total - *std::max_element(weights.begin(), weights.end());
    }

    const Problem& problem_;
    const int min_rows_;
    std::vector<std::uint32_t> columns_;
    std::map<std::pair<std::uint32_t, std::size_t>, std::int64_t> known_;
};

// So many columns that shallower trees are searched for first by default, at depths where that nests, on so few rows
// that a search without bounds, and one without a cache too where there are not too many nodes, ends.
void test_many_columns(std::uint64_t seed) {
    Random random(seed);
    const std::size_t depth = seed % 2 == 0 ? 4 : 5;
    Problem problem = random_problem(random, random.between(8, depth == 4 ? 13 : 14), random.between(50, 60), 2);
    for (std::int32_t& c : problem.classes) {
        c = random.chance(0.5) ? 1 : 0;  // hard to tell apart
    }
    random_weights(random, random.pick<std::int64_t>({0, 3}), 1, problem);
    Options options;
    options.objective.k.assign(depth, INT32_MAX);
    const int min_rows = random.pick({1, 1, 2, 3});
    options.objective.min_rows = min_rows;
    options.tuning.threads_after = 0;
    options.tuning.task_cycles = 0;
    const Solution solution = solve(problem.data(), options);
    options.tuning.threads = 8;
    const Solution in_parallel = solve(problem.data(), options);
    options.tuning.threads = 1;
    options.tuning.shallow_first_columns = SIZE_MAX;
    const Solution deep_first = solve(problem.data(), options);
    options.tuning.use_bounds = false;
    options.tuning.use_cache = depth == 5 || problem.rows.size() > 10;
    const Solution plain = solve(problem.data(), options);
    CHECK(same_tree(solution, plain), "seed " << seed);
    CHECK(same_tree(in_parallel, plain), "seed " << seed);
    CHECK(same_tree(deep_first, plain), "seed " << seed);
    BestCost best_cost(problem, min_rows);
    CHECK(solution.cost == best_cost((std::uint32_t{1} << problem.rows.size()) - 1, depth), "seed " << seed);
}

// All columns, and more threads than candidates of most nodes.
void test_many_threads(std::uint64_t seed) {
    Random random(seed);
    Problem problem = random_problem(random, random.between(50, 200), random.between(6, 12), random.pick({2, 3}));
    Options options;
    options.objective.k.assign(random.between(3, 4), INT32_MAX);
    random_weighting(random, problem);
    random_objective(random, problem, options);
    random_switches(random, options);
    options.tuning.threads = 1;
    const Solution expected = solve(problem.data(), options);
    options.tuning.threads = 8;
    for (int i = 0; i < 3; ++i) {
        CHECK(same_tree(solve(problem.data(), options), expected), describe(seed, problem, options));
    }
}

// Short searches end before threads are started.
void test_threads_after() {
    Problem problem = noise(300, 30);
    Options options;
    options.objective.k = {4, 8, 2, 2};
    options.tuning.threads = 2;
    options.tuning.threads_after = 0;
    options.tuning.task_cycles = 0;
    const Solution expected = solve(problem.data(), options);
    CHECK(expected.statistics.threads == 2);
    for (const double seconds : {1e-4, 1e-3, 1e9}) {
        options.tuning.threads_after = seconds;
        const Solution solution = solve(problem.data(), options);
        CHECK(same_tree(solution, expected));
        CHECK(seconds < 1 || solution.statistics.threads == 1);
    }
}

// The calling thread takes the first candidate and is slow, so that later candidates of the same cost finish before it.
void test_ties_out_of_order(std::uint64_t seed) {
    Random random(seed);
    Problem problem = random_problem(random, random.between(5, 40), random.between(3, 8), 2);
    Options options;
    options.objective.k = {6, 3, 2, 2};
    options.tuning.threads = 3;
    options.tuning.threads_after = 0;
    options.tuning.task_cycles = 0;
    options.tuning.use_bounds = random.chance(0.7);
    options.objective.criterion = Criterion::user;
    options.objective.user_score = user_score;
    const Solution expected = Reference(problem, options).solve();
    options.objective.user_score = [caller = std::this_thread::get_id()](const auto& left, const auto& right,
                                                                         const auto& columns) {
        std::this_thread::sleep_for(std::chrono::microseconds(std::this_thread::get_id() == caller ? 200 : 0));
        return user_score(left, right, columns);
    };
    CHECK(same_tree(solve(problem.data(), options), expected), describe(seed, problem, options));
}

// Problems with hardly any rows, columns or classes.
void test_smallest_problems() {
    for (const std::size_t n_columns : std::initializer_list<std::size_t>{0, 1}) {
        for (const std::size_t n_rows : std::initializer_list<std::size_t>{1, 2, 5}) {
            for (const std::int32_t n_classes : {1, 2}) {
                for (const bool use_bounds : {false, true}) {
                    Random random(n_rows);
                    Problem problem = random_problem(random, n_rows, n_columns, n_classes);
                    Options options;
                    options.objective.k = {2, 2, 2};
                    options.tuning.use_bounds = use_bounds;
                    CHECK(same_tree(solve(problem.data(), options), Reference(problem, options).solve()),
                          describe(n_rows, problem, options));
                }
            }
        }
    }
}

void test_statistics() {
    Problem problem = noise(300, 30);
    Options options;
    options.objective.k = {4, 8, 2, 2};
    options.tuning.threads = 2;
    options.tuning.threads_after = 0;
    options.tuning.task_cycles = 0;
    const Statistics statistics = solve(problem.data(), options).statistics;
    CHECK(statistics.k_reached == 8 && statistics.threads == 2 && statistics.nodes > 0 && statistics.seconds >= 0);
    CHECK(statistics.kernel == available_kernels().back()->name);
}

// Two subsets that would share a fingerprint without a salt.
void test_crafted_problem() {
    Problem problem = crafted_problem();
    Options options;
    options.objective.k.assign(3, INT32_MAX);
    for (const bool use_cache : {false, true}) {
        options.tuning.use_cache = use_cache;
        const Solution solution = solve(problem.data(), options);
        CHECK(solution.cost == 0 && solution.column[0] == 0, "cache " << use_cache << ", cost " << solution.cost);
    }
}

// Each change makes a valid problem invalid.
void test_invalid_arguments() {
    const std::vector<std::uint64_t> rows = {0, 1, 2};
    const std::vector<std::int32_t> classes = {0, 1, 0};
    const std::vector<std::int32_t> bad_classes = {0, 2, 0};
    const std::vector<std::int32_t> negative_classes = {0, -1, 0};
    const std::vector<std::int64_t> weights = {1, 1};
    const std::vector<std::int64_t> bad_weights = {1, 0};
    const std::vector<std::int64_t> bad_row_weights = {1, -1, 1};
    const auto rejects = [&](const auto& change) {
        Data data = {rows, 3, 2, classes, 2, {}, weights, {}};
        Options options;
        options.objective.k = {1, 2};
        solve(data, options);
        change(data, options);
        CHECK_THROWS(std::invalid_argument, solve(data, options));
    };
    rejects([](Data& data, Options&) { data.n_rows = 0; });
    rejects([](Data& data, Options&) { data.n_rows = 2; });
    rejects([](Data& data, Options&) { data.n_columns = 65; });
    rejects([](Data& data, Options&) { data.n_columns = std::size_t{1} << 24; });
    rejects([](Data& data, Options&) { data.rows = data.rows.first(2); });
    rejects([](Data& data, Options&) { data.classes = data.classes.first(2); });
    rejects([&](Data& data, Options&) { data.classes = bad_classes; });
    rejects([&](Data& data, Options&) { data.classes = negative_classes; });
    rejects([](Data& data, Options&) { data.n_classes = 0; });
    rejects([](Data& data, Options&) { data.n_classes = 3; });
    rejects([&](Data& data, Options&) { data.class_weight = bad_weights; });
    rejects([&](Data& data, Options&) { data.row_weight = weights; });
    rejects([&](Data& data, Options&) { data.row_weight = bad_row_weights; });
    rejects([](Data&, Options& options) { options.objective.k = {1, 0}; });
    rejects([](Data&, Options& options) { options.objective.k.assign(1000, 1); });
    rejects([](Data&, Options& options) { options.objective.min_rows = 0; });
    rejects([](Data&, Options& options) { options.objective.min_weight = 0; });
    rejects([](Data&, Options& options) { options.objective.cost_scale = 0; });
    rejects([](Data&, Options& options) { options.objective.leaf_penalty = -1; });
    rejects([](Data&, Options& options) { options.tuning.threads = 0; });
    rejects([](Data&, Options& options) { options.tuning.kernel = "abacus"; });
    rejects([](Data&, Options& options) { options.objective.criterion = Criterion::user; });
}

}  // namespace

int main() {
    test_smallest_problems();
    test_statistics();
    test_threads_after();
    test_invalid_arguments();
    test_crafted_problem();
    for (std::uint64_t seed = 0; seed < check::problems(600); ++seed) {
        test_random_problem(seed);
    }
    for (std::uint64_t seed = 0; seed < 75; ++seed) {
        test_all_columns(seed);
    }
    for (std::uint64_t seed = 0; seed < check::problems(300); ++seed) {
        test_merged_columns(seed);
    }
    test_shallow_first();
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        test_many_columns(seed);
        test_many_threads(seed);
    }
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        test_ties_out_of_order(seed);
    }
    return check::report();
}
