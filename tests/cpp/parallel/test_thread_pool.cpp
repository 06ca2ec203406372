// Every task runs once, in ascending order, at any nesting and with any number of threads.
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "support/check.hpp"
#include "topk/parallel/thread_pool.hpp"

using namespace topk;

namespace {

void run(ThreadPool& pool, int depth, int n, const ThreadPool::Task& task) {
    pool.run(depth, n, task, task, [] {});
}

void test_runs_once(int n_threads) {
    ThreadPool pool(n_threads);
    for (const int n : {0, 1, 2, 3, 10, 1000}) {
        std::vector<std::atomic<int>> runs(static_cast<std::size_t>(n));
        run(pool, 0, n, [&](int i) { ++runs[static_cast<std::size_t>(i)]; });
        for (const auto& count : runs) {
            CHECK(count == 1, n << " tasks, " << n_threads << " threads");
        }
    }
}

// Tasks are taken in order. Between being taken and arriving here, a task can be overtaken by n_threads - 1 others.
void test_order(int n_threads) {
    ThreadPool pool(n_threads);
    std::mutex mutex;
    int n_arrived = 0;
    const auto task = [&](int i) {
        const std::lock_guard guard(mutex);
        CHECK(n_arrived >= i - (n_threads - 1), "task " << i << " came after " << n_arrived);
        CHECK(n_threads > 1 || n_arrived == i);
        ++n_arrived;
    };
    run(pool, 0, 2000, task);
}

// Three levels of groups. A thread that waits for a group helps only with tasks at least as deep.
void test_nested(int n_threads) {
    constexpr int kWidth = 6;
    ThreadPool pool(n_threads);
    std::atomic<int> n_runs[3] = {};
    static thread_local int waits_for = 0;  // depth
    const std::function<void(int)> run_group = [&](int depth) {
        const int outer = waits_for;
        waits_for = depth;
        const auto task = [&, depth](int) {
            CHECK(depth >= waits_for, "a task of depth " << depth << " while waiting for depth " << waits_for);
            ++n_runs[depth];
            if (depth < 2) {
                run_group(depth + 1);
            } else {
                std::this_thread::sleep_for(std::chrono::microseconds(20));
            }
        };
        run(pool, depth, kWidth, task);
        waits_for = outer;
    };
    for (int round = 1; round <= 5; ++round) {
        run_group(0);
        CHECK(n_runs[0] == round * kWidth && n_runs[1] == round * kWidth * kWidth);
        CHECK(n_runs[2] == round * kWidth * kWidth * kWidth, n_threads << " threads");
    }
}

// One task per thread: the caller's task ends when the other one has started, which ends when idle() was called.
void test_idle() {
    ThreadPool pool(2);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> other_started = false;
    std::atomic<bool> idle_called = false;
    const auto task = [&](int) {
        const bool is_caller = std::this_thread::get_id() == caller;
        if (!is_caller) {
            other_started = true;
        }
        while (!(is_caller ? other_started : idle_called)) {
            std::this_thread::yield();
        }
    };
    const auto idle = [&] {
        CHECK(std::this_thread::get_id() == caller);
        idle_called = true;
    };
    pool.run(0, 2, task, task, idle);
    CHECK(idle_called);
}

// The caller runs its own tasks, and each of them says whose it is.
void test_own_tasks(int n_threads) {
    ThreadPool pool(n_threads);
    const auto runner = [&](int depth, auto inner) {
        const std::thread::id caller = std::this_thread::get_id();
        const auto own = [&, caller](int i) {
            CHECK(std::this_thread::get_id() == caller);
            inner(i);
        };
        const auto elsewhere = [&, caller](int i) {
            CHECK(std::this_thread::get_id() != caller);
            inner(i);
        };
        pool.run(depth, 10, own, elsewhere, [] {});
    };
    std::atomic<int> n_runs = 0;
    runner(0, [&](int) { runner(1, [&](int) { ++n_runs; }); });
    CHECK(n_runs == 100);
}

void wait_for(const std::function<bool()>& condition) {
    while (!condition()) {
        std::this_thread::yield();
    }
}

// A thread is idle once it finds no task, until there is one again.
void test_idle_threads() {
    ThreadPool pool(2);
    wait_for([&] { return pool.has_idle_thread(); });
    std::atomic<int> n_started = 0;
    std::atomic<int> n_checked = 0;
    run(pool, 0, 2, [&](int) {
        ++n_started;
        wait_for([&] { return n_started == 2; });
        CHECK(!pool.has_idle_thread());
        ++n_checked;
        wait_for([&] { return n_checked == 2; });
    });
    wait_for([&] { return pool.has_idle_thread(); });
    CHECK(!ThreadPool(1).has_idle_thread());
}

void test_many_small_groups(int n_threads) {
    ThreadPool pool(n_threads);
    std::atomic<int> n_runs = 0;
    int expected = 0;
    for (int i = 0; i < 5000; ++i) {
        const int n = i % 4;
        run(pool, 0, n, [&](int) { ++n_runs; });
        expected += n;
        CHECK(n_runs == expected);
    }
    // The same from within tasks, so that several groups are open at once.
    run(pool, 0, 8, [&](int) {
        for (int i = 0; i < 500; ++i) {
            run(pool, 1, 2, [&](int) { ++n_runs; });
        }
    });
    CHECK(n_runs == expected + 8 * 500 * 2);
}

void test_unused_pools() {
    for (int i = 0; i < 100; ++i) {
        const ThreadPool pool(i % 5);
        CHECK(true);
    }
}

}  // namespace

int main() {
    for (const int n_threads : {1, 2, 3, 4}) {
        test_runs_once(n_threads);
        test_order(n_threads);
        test_nested(n_threads);
        test_own_tasks(n_threads);
        test_many_small_groups(n_threads);
    }
    test_idle();
    test_idle_threads();
    test_unused_pools();
    return check::report();
}
