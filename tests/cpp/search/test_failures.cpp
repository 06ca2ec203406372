// A search that runs out of memory or threads at any moment throws std::bad_alloc or finds the tree without what it
// lacks; it leaks nothing (the address sanitizer sees that), and the next search is right.
#include <cstdint>
#include <functional>
#include <new>
#include <vector>

#include "support/allocation.hpp"
#include "support/check.hpp"
#include "support/problems.hpp"
#include "support/random_options.hpp"
#include "support/reference.hpp"
#include "topk/topk.hpp"

using namespace topk;

namespace {

// Run `call` with the n-th allocation failing, for n = 0, 1, ... until none fails; later on, only for some n.
void fail_everywhere(const char* name, const std::function<bool()>& call) {
    std::int64_t n_failed = 0;
    bool failed = true;
    for (std::int64_t n = 0; failed; n += 1 + n / 64) {
        allocation::until_failure = n;
        try {
            CHECK(call(), name << ", allocation " << n);
        } catch (const std::bad_alloc&) {
            ++n_failed;
        }
        failed = allocation::until_failure < 0;
        allocation::until_failure = -1;
    }
    CHECK(n_failed > 0, name);
    CHECK(call(), name);
}

void test_solve(std::uint64_t seed) {
    Random random(seed);
    Problem problem = random_problem(random, random.between(100, 300), random.between(5, 40), random.pick({2, 3}));
    Options options;
    options.objective.k.assign(random.between(2, 4), static_cast<std::int32_t>(random.between(2, 3)));
    random_weighting(random, problem);
    random_objective(random, problem, options);
    random_switches(random, options);
    options.tuning.use_cache = true;
    options.tuning.threads = random.pick({1, 3});
    const Data data = problem.data();
    const Solution expected = solve(data, options);
    fail_everywhere("solve", [&] { return same_tree(solve(data, options), expected); });
    const NearOptimalRequest request = {.n = 20, .epsilon = 0.2};
    const std::vector<Solution> trees = near_optimal(data, options, request);
    fail_everywhere("near_optimal", [&] {
        const std::vector<Solution> again = near_optimal(data, options, request);
        return again.size() == trees.size() && same_tree(again.back(), trees.back());
    });
}

void test_shard() {
    Random random(1);
    Problem problem = random_problem(random, 1000, 20, 3);
    const Data data = problem.data();
    const Kernels& kernels = find_kernels("");
    const std::vector<std::uint64_t> expected = make_shard(data, 0, kernels);
    fail_everywhere("make_shard", [&] { return make_shard(data, 0, kernels) == expected; });
    const std::vector<std::int32_t> depth = {0, 1, 2};
    const std::vector<std::int32_t> column = {0, 3, 4};
    const std::vector<std::uint8_t> side = {0, 1, 0};
    const std::vector<std::int64_t> answers = {0, 1, 2};
    const auto count = [&] {
        std::vector<std::int64_t> counts(n_counts({20, 3}, 3));
        count_shard(expected, {20, 3}, {depth, column, side, answers}, 3, false, kernels, counts.data());
        return counts;
    };
    const std::vector<std::int64_t> counts = count();
    fail_everywhere("count_shard", [&] { return count() == counts; });
}

// The threads that have started do all the work; if there is none, the calling thread does.
void test_threads() {
    Problem problem = noise(300, 30);
    Options options;
    options.objective.k = {4, 8, 2, 2};
    options.tuning.threads_after = 0;
    options.tuning.task_cycles = 0;
    const Solution expected = solve(problem.data(), options);
    options.tuning.threads = 4;
    for (const int n : {0, 1, 2}) {
        allocation::threads_until_failure = n;
        const Solution solution = solve(problem.data(), options);
        CHECK(allocation::threads_until_failure < 0, "the thread did not fail");
        CHECK(same_tree(solution, expected) && solution.statistics.threads == 1 + n, n << " threads");
        allocation::threads_until_failure = -1;
    }
    const Solution solution = solve(problem.data(), options);
    CHECK(same_tree(solution, expected) && solution.statistics.threads == 4);
}

}  // namespace

int main() {
    test_threads();
    test_shard();
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        test_solve(seed);
    }
    return check::report();
}
