// Numbered tasks that depend on each other in nothing, in several threads once the search has run for a while.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "topk/parallel/stop.hpp"
#include "topk/parallel/thread_pool.hpp"

namespace topk {

class Tasks {
  public:
    // `after`: seconds without other threads, as in Tuning::threads_after.
    explicit Tasks(int n_threads = 1, double after = 0) : n_threads_(n_threads), after_(after) {}

    // Run task(0, ticker) ... task(n - 1, ticker), started in this order, and return when all have ended. What a task
    // throws ends the search. Throws Stopped.
    void run(std::size_t n, Ticker& ticker, const std::function<void(std::size_t, Ticker&)>& task);

  private:
    int n_threads_;
    double after_;
    std::unique_ptr<ThreadPool> pool_;  // null until it is needed
};

}  // namespace topk
