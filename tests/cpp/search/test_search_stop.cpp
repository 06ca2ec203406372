// A search that is stopped by the caller, by an error in the user's criterion or by its time limit ends soon and
// cleanly.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/check.hpp"
#include "support/ordered.hpp"
#include "support/problems.hpp"
#include "support/reference.hpp"
#include "topk/search/search.hpp"

using namespace topk;

namespace {

struct Interrupt {
    int code;
};

// Generous, since sanitizers make everything ten times slower and the machine may be busy.
constexpr double kSoon = 2.0;

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The caller interrupts at the first poll, which is due after 20 ms.
void test_interrupt(const char* what, Problem problem, Options options) {
    const Data data = problem.data();
    const auto start = std::chrono::steady_clock::now();
    const std::thread::id caller = std::this_thread::get_id();
    options.callbacks.poll = [&](const Progress&) {
        CHECK(std::this_thread::get_id() == caller);
        throw Interrupt{7};
    };
    int code = 0;
    try {
        solve(data, options);
    } catch (const Interrupt& interrupt) {
        code = interrupt.code;
    }
    CHECK(code == 7, what << ", " << options.tuning.threads << " threads");
    CHECK(seconds_since(start) < kSoon,
          what << ", " << options.tuning.threads << " threads, " << seconds_since(start) << " s");
}

std::vector<double> slow_score(const std::vector<double>&, const std::vector<double>& right,
                               const std::vector<bool>& columns) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {right.begin(), right.begin() + static_cast<std::ptrdiff_t>(columns.size())};
}

void test_interrupts(int threads) {
    Options options;
    options.tuning.threads = threads;
    options.tuning.threads_after = 0;
    options.tuning.task_cycles = 0;
    options.objective.k.assign(6, 200);
    test_interrupt("long tasks", noise(2000, 200), options);
    options.tuning.time_limit = 3600;
    test_interrupt("time limit", noise(2000, 200), options);
    options.tuning.time_limit = 0;
    options.tuning.use_cache = false;
    options.tuning.use_bounds = false;
    options.objective.k.assign(4, 150);
    test_interrupt("short tasks", noise(40, 300), options);
    options.objective.criterion = Criterion::user;
    options.objective.user_score = slow_score;
    options.objective.k.assign(4, 10);
    test_interrupt("slow criterion", noise(40, 12), options);
}

void test_progress(int threads) {
    Problem problem = noise(1000, 60);
    Options options;
    options.tuning.threads = threads;
    options.tuning.threads_after = 0;
    options.tuning.task_cycles = 0;
    options.objective.k = {30, 40, 40, 40};
    options.tuning.use_bounds = false;
    options.tuning.time_limit = 3600;
    std::vector<Progress> reports;
    options.callbacks.poll = [&](const Progress& progress) { reports.push_back(progress); };
    const Solution solution = solve(problem.data(), options);
    CHECK(!reports.empty() || solution.statistics.seconds < 0.1, solution.statistics.seconds << " s");
    for (std::size_t i = 0; i < reports.size(); ++i) {
        CHECK(reports[i].cost == -1 || reports[i].cost >= solution.cost);
        CHECK(reports[i].k >= 1 && reports[i].k <= 40);
        if (i > 0) {
            CHECK(reports[i].seconds > reports[i - 1].seconds && reports[i].nodes >= reports[i - 1].nodes);
            CHECK(reports[i].k >= reports[i - 1].k);
        }
    }
}

// The criterion fails at its n-th call, or in the first thread that is not the caller's.
void test_failing_criterion(int threads, int n_calls, bool elsewhere) {
    Problem problem = noise(200, 30);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> calls = 0;
    Options options;
    options.tuning.threads = threads;
    options.tuning.threads_after = 0;
    options.tuning.task_cycles = 0;
    options.objective.k.assign(5, 30);
    options.objective.criterion = Criterion::user;
    options.objective.user_score = [&](const std::vector<double>&, const std::vector<double>& right,
                                       const std::vector<bool>& columns) {
        const bool fails = elsewhere ? std::this_thread::get_id() != caller : ++calls == n_calls;
        if (fails) {
            throw std::domain_error("the user's own error");
        }
        return std::vector<double>(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(columns.size()));
    };
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS(std::domain_error, solve(problem.data(), options));
    CHECK(seconds_since(start) < kSoon, seconds_since(start) << " s, " << threads << " threads, call " << n_calls);
}

// The limit is reached at once: the result is the tree of the widest k whose pass ran to completion.
void test_time_limit(int threads, double time_limit) {
    Problem problem = noise(3000, 100);
    const Data data = problem.data();
    Options options;
    options.tuning.threads = threads;
    options.tuning.threads_after = 0;
    options.tuning.task_cycles = 0;
    options.objective.k.assign(6, 100);
    options.tuning.time_limit = time_limit;
    const auto start = std::chrono::steady_clock::now();
    const Solution solution = solve(data, options);
    CHECK(seconds_since(start) < time_limit + kSoon, seconds_since(start) << " s, " << threads << " threads");
    CHECK(!solution.complete);
    const std::int32_t k = solution.statistics.k_reached;
    CHECK(k >= 1 && k < 100, k);
    options.tuning.time_limit = 0;
    options.objective.k.assign(6, k);
    CHECK(same_tree(solution, solve(data, options)), "k = " << k << ", " << threads << " threads");
    if (k == 1) {
        CHECK(same_tree(solution, Reference(problem, options).solve()));
    }
}

// The limit is reached within the local search that comes before the pass over all thresholds: its tree is whole, and
// reported.
void test_stopped_local_search(int threads, double time_limit) {
    Random random(3);
    OrderedProblem problem = random_ordered(random, 1000, 4, 200, 3, true);
    const Data data = problem.data();
    Options options;
    options.tuning.threads = threads;
    options.tuning.threads_after = 0;
    options.objective.k.assign(5, INT32_MAX);
    options.tuning.time_limit = time_limit;
    std::int64_t last_cost = INT64_MAX;
    options.callbacks.on_tree = [&](const Solution& tree) {
        CHECK(tree.cost < last_cost, tree.cost << " after " << last_cost);
        last_cost = tree.cost;
    };
    const Solution solution = solve(data, options);
    CHECK(!solution.complete);
    CHECK(solution.cost == last_cost && solution.cost == solution.statistics.trace.back().cost);
    std::int64_t n_wrong = 0;
    for (std::size_t node = 0; node < solution.column.size(); ++node) {
        const std::int64_t* weight = solution.class_weight.data() + 3 * node;
        n_wrong += solution.column[node] < 0 ? solution.n_rows[node] - *std::max_element(weight, weight + 3) : 0;
    }
    CHECK(solution.cost == n_wrong && solution.n_wrong == n_wrong, solution.cost << ", " << n_wrong);
}

}  // namespace

int main() {
    for (const int threads : {1, 3}) {
        test_interrupts(threads);
        test_progress(threads);
        for (const int n_calls : {1, 2, 10, 1000}) {
            test_failing_criterion(threads, n_calls, false);
        }
        test_time_limit(threads, 1e-9);
        test_time_limit(threads, 0.3);
        for (const double time_limit : {0.1, 0.3, 0.6}) {
            test_stopped_local_search(threads, time_limit);
        }
    }
    test_failing_criterion(3, 0, true);
    return check::report();
}
