// A search that is stopped by the caller, by an error of the user's criterion or by its time limit, soon and cleanly.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "problems.hpp"
#include "reference.hpp"
#include "topk/search.hpp"

using namespace topk;

namespace {

struct Interrupt {
    int code;
};

// Generous: sanitizers make everything ten times slower, and the machine may be busy.
constexpr double kSoon = 3.0;

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Noise: nothing can be pruned, and a search of all columns takes for ever.
Problem noise(std::size_t n_rows, std::size_t n_columns) {
    Random random(n_rows);
    Problem problem = random_problem(random, n_rows, 0, 2);
    problem.n_columns = n_columns;
    for (auto& row : problem.rows) {
        for (std::size_t j = 0; j < n_columns; ++j) {
            row.push_back(random.chance(0.5) ? 1 : 0);
        }
    }
    return problem;
}

// The caller interrupts at the first poll. How soon that reaches solve() must not depend on how long a task takes.
void test_interrupt(Problem problem, Options options) {
    const Data data = problem.data();
    const auto start = std::chrono::steady_clock::now();
    const std::thread::id caller = std::this_thread::get_id();
    options.poll = [&](const Progress& progress) {
        CHECK(std::this_thread::get_id() == caller);
        CHECK(progress.seconds > 0 && progress.k > 0 && progress.nodes >= 0);
        throw Interrupt{7};
    };
    int code = 0;
    try {
        solve(data, options);
    } catch (const Interrupt& interrupt) {
        code = interrupt.code;
    }
    CHECK(code == 7, options.threads << " threads, " << problem.rows.size() << " rows");
    CHECK(seconds_since(start) < kSoon, seconds_since(start) << " s, " << options.threads << " threads, "
                                                             << problem.rows.size() << " rows");
}

std::vector<double> slow_score(const std::vector<double>&, const std::vector<double>& right, const std::vector<bool>& columns) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {right.begin(), right.begin() + static_cast<std::ptrdiff_t>(columns.size())};
}

void test_interrupts(int threads) {
    Options options;
    options.threads = threads;
    options.k.assign(6, 200);
    test_interrupt(noise(2000, 200), options);
    // A few rows only: every task of the pool is short.
    options.k = {60, 60, 60, 60};
    options.use_cache = false;
    options.use_bounds = false;
    test_interrupt(noise(40, 100), options);
    // Little to count, and a criterion that takes its time.
    options.criterion = Criterion::user;
    options.user_score = slow_score;
    options.k = {10, 10, 10, 10};
    test_interrupt(noise(40, 12), options);
}

// The criterion fails at its n-th call, or in the first thread that is not the caller's.
void test_failing_criterion(int threads, int n_calls, bool elsewhere) {
    Problem problem = noise(200, 30);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> calls = 0;
    Options options;
    options.threads = threads;
    options.k.assign(5, 30);
    options.criterion = Criterion::user;
    options.user_score = [&](const std::vector<double>&, const std::vector<double>& right, const std::vector<bool>& columns) {
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

// The limit is over at once: what comes back is the tree of the widest k that was finished.
void test_time_limit(int threads, double time_limit) {
    Problem problem = noise(3000, 100);
    const Data data = problem.data();
    Options options;
    options.threads = threads;
    options.k.assign(6, 100);
    options.time_limit = time_limit;
    const auto start = std::chrono::steady_clock::now();
    const Solution solution = solve(data, options);
    CHECK(seconds_since(start) < time_limit + kSoon, seconds_since(start) << " s, " << threads << " threads");
    CHECK(!solution.complete);
    const std::int32_t k = solution.statistics.k_reached;
    CHECK(k >= 1 && k < 100, k);
    options.time_limit = 0;
    options.k.assign(6, k);
    CHECK(same_tree(solution, solve(data, options)), "k = " << k << ", " << threads << " threads");
    if (k == 1) {
        CHECK(same_tree(solution, Reference(problem, options).solve()));
    }
}

}  // namespace

int main() {
    for (const int threads : {1, 3}) {
        test_interrupts(threads);
        for (const int n_calls : {1, 2, 10, 1000}) {
            test_failing_criterion(threads, n_calls, false);
        }
        test_time_limit(threads, 1e-9);
        test_time_limit(threads, 0.3);
    }
    test_failing_criterion(3, 0, true);
    return check::report();
}
