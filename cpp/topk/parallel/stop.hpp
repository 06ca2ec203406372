// Stops a search: because of its time limit, of the caller (Ctrl-C), or of an error in one of its threads.
//
// All threads share one Monitor, and look at its flag and at the clock whenever they have done a little work. Only the
// thread that called solve() polls the caller. A thread that sees the flag unwinds by throwing Stopped; the monitor
// keeps the reason.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

namespace topk {

struct Stopped {};

class Monitor {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Monitor(std::function<void()> poll) : poll_(std::move(poll)), caller_(std::this_thread::get_id()) {}

    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
    void set_time_limit(double seconds) { time_limit_ = seconds; }
    bool called_from_here() const { return std::this_thread::get_id() == caller_; }
    bool stopped() const { return stop_.load(std::memory_order_relaxed); }

    // End the search because of an error. The caller sees the first one.
    void fail(std::exception_ptr error) {
        const std::lock_guard guard(mutex_);
        if (!error_) {
            error_ = std::move(error);
        }
        stop_.store(true, std::memory_order_relaxed);
    }
    void rethrow() const {
        if (error_) {
            std::rethrow_exception(error_);
        }
    }

    // Look at the clock and, in the thread that made the monitor, poll the caller.
    void check(bool is_caller) {
        const double now = seconds();
        if (now > time_limit_) {
            stop_.store(true, std::memory_order_relaxed);
        } else if (is_caller && poll_ && now - last_poll_ > kPollSeconds) {
            last_poll_ = now;
            try {
                poll_();
            } catch (...) {
                fail(std::current_exception());
            }
        }
    }

  private:
    static constexpr double kPollSeconds = 0.02;

    std::function<void()> poll_;
    std::thread::id caller_;
    Clock::time_point start_ = Clock::now();
    double time_limit_ = std::numeric_limits<double>::infinity();
    double last_poll_ = 0;
    std::atomic<bool> stop_ = false;
    std::mutex mutex_;
    std::exception_ptr error_;
};

// One per thread of execution: counts work and checks the monitor from time to time.
class Ticker {
  public:
    explicit Ticker(Monitor& monitor) : monitor_(&monitor), is_caller_(monitor.called_from_here()) {}

    Monitor& monitor() const { return *monitor_; }

    // `work` is measured in column words counted; a look at the clock costs as much as about 100 of them. Throws
    // Stopped.
    void tick(std::size_t work) {
        work_ += work;
        if (work_ < kWorkPerCheck) {
            return;
        }
        work_ = 0;
        monitor_->check(is_caller_);
        if (monitor_->stopped()) {
            throw Stopped{};
        }
    }

    // Well under a millisecond at the scalar kernel's 1 ns per column word.
    static constexpr std::size_t kWorkPerCheck = std::size_t{1} << 18;

  private:
    Monitor* monitor_;
    bool is_caller_;
    std::size_t work_ = 0;
};

// Call visit(0) ... visit(n - 1), each of which takes about as long as counting `work` column words.
template <class Visit>
void for_each(std::size_t n, std::size_t work, Ticker& ticker, Visit visit) {
    constexpr std::size_t kPart = std::size_t{1} << 12;
    for (std::size_t begin = 0; begin < n; begin += kPart) {
        const std::size_t end = n - begin < kPart ? n : begin + kPart;
        ticker.tick(work * (end - begin));
        for (std::size_t i = begin; i < end; ++i) {
            visit(i);
        }
    }
}

}  // namespace topk
