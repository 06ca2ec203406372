// Independent numbered tasks; several threads share them once the search has run for a while.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "topk/parallel/stop.hpp"
#include "topk/parallel/thread_pool.hpp"

namespace topk {

class Tasks {
  public:
    // `after`: seconds without other threads, as in Tuning::threads_after.
    explicit Tasks(int n_threads = 1, double after = 0) : n_threads_(n_threads), after_(after) {}

    // Run task(0, ticker) ... task(n - 1, ticker), started in this order, and return when all have ended. What a task
    // throws ends the search: it goes to the monitor, or through this call while no other thread runs. Throws Stopped.
    void run(std::size_t n, Ticker& ticker, const std::function<void(std::size_t, Ticker&)>& task);

  private:
    int n_threads_;
    double after_;
    std::unique_ptr<ThreadPool> pool_;  // null until it is needed
};

// Buffers that tasks reuse; there are as many as tasks run at the same time.
template <class T>
class Spares {
  public:
    T take() {
        const std::lock_guard guard(mutex_);
        if (spares_.empty()) {
            return T();
        }
        T last = std::move(spares_.back());
        spares_.pop_back();
        return last;
    }
    void put(T used) {
        const std::lock_guard guard(mutex_);
        spares_.push_back(std::move(used));
    }

  private:
    std::mutex mutex_;
    std::vector<T> spares_;
};

}  // namespace topk
