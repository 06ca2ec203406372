// Every task runs once, in one thread or several; what ends one of them ends the call.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/check.hpp"
#include "topk/parallel/tasks.hpp"

using namespace topk;

namespace {

void test_runs_once(int n_threads, double after) {
    Monitor monitor({});
    Ticker ticker(monitor);
    Tasks tasks(n_threads, after);
    for (const std::size_t n : {0U, 1U, 2U, 3U, 100U}) {
        std::vector<std::atomic<int>> runs(n);
        tasks.run(n, ticker, [&](std::size_t i, Ticker& own) {
            own.tick(Ticker::kWorkPerCheck);
            ++runs[i];
        });
        for (const auto& count : runs) {
            CHECK(count == 1, n << " tasks, " << n_threads << " threads, after " << after);
        }
    }
}

// Two tasks wait for each other, which takes two threads; before the time has come there is but one.
void test_threads() {
    Monitor monitor({});
    Ticker ticker(monitor);
    std::atomic<int> n_started = 0;
    Tasks(2).run(2, ticker, [&](std::size_t, Ticker&) {
        ++n_started;
        while (n_started < 2) {
            std::this_thread::yield();
        }
    });
    CHECK(n_started == 2);
    const std::thread::id caller = std::this_thread::get_id();
    Tasks(2, 3600).run(5, ticker, [&](std::size_t, Ticker&) { CHECK(std::this_thread::get_id() == caller); });
}

// An error in any task is the monitor's to keep; the caller unwinds. Alone, it throws as it is.
void test_errors() {
    for (const int n_threads : {2, 3}) {
        Monitor monitor({});
        Ticker ticker(monitor);
        std::atomic<int> n_after = 0;
        const auto fail_once = [&](std::size_t i, Ticker&) {
            if (i == 3) {
                throw std::domain_error("task 3");
            }
            n_after += i > 10 ? 1 : 0;
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        };
        CHECK_THROWS(Stopped, Tasks(n_threads).run(1000, ticker, fail_once));
        CHECK_THROWS(std::domain_error, monitor.rethrow());
        CHECK(n_after < 900);
        CHECK_THROWS(std::domain_error, Tasks(1).run(1000, ticker, fail_once));
    }
}

// The time limit is looked at in every thread, even by tasks that never tick.
void test_time_limit(int n_threads) {
    Monitor monitor({});
    Ticker ticker(monitor);
    monitor.set_time_limit(0);
    CHECK_THROWS(Stopped,
                 Tasks(n_threads).run(50, ticker, [&](std::size_t, Ticker& own) { own.tick(Ticker::kWorkPerCheck); }));
}

}  // namespace

int main() {
    for (const int n_threads : {1, 2, 4}) {
        for (const double after : {0.0, 1e-5, 3600.0}) {
            test_runs_once(n_threads, after);
        }
        test_time_limit(n_threads);
    }
    test_threads();
    test_errors();
    return check::report();
}
