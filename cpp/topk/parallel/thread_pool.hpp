// A few threads that work on numbered tasks, nested to any depth.
//
// A thread that waits for its own tasks helps with others meanwhile, but only with tasks at least as deep as its own:
// those are short, and its stack does not grow. No OpenMP or TBB: both clash with the threads of joblib users.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace topk {

class ThreadPool {
  public:
    using Task = std::function<void(int)>;

    explicit ThreadPool(int n_threads);  // the calling thread is one of them
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int size() const { return static_cast<int>(threads_.size()) + 1; }

    // Has a thread found no task since the last group was added?
    bool has_idle_thread() const { return is_idle_.load(std::memory_order_relaxed); }

    // Run tasks 0 ... n - 1, started in this order, and return when all have ended: this thread calls own(i), others
    // call elsewhere(i). Tasks must not throw. `idle` is called every few milliseconds while this thread has nothing to
    // do.
    void run(int depth, int n, const Task& own, const Task& elsewhere, const std::function<void()>& idle);

  private:
    struct Group {
        int depth;
        int n;
        const Task* task;
        int started = 0;
        int ended = 0;
    };

    void work();
    Group* next_group(int min_depth);
    void run_one(Group& group, const Task& task, std::unique_lock<std::mutex>& lock);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Group*> groups_;  // with tasks not yet started
    bool ending_ = false;
    std::atomic<bool> is_idle_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace topk
