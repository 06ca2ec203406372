// A few threads that work on numbered tasks, nested to any depth.
//
// A thread that waits for its own tasks helps with others meanwhile, but only with tasks at least as deep as its own:
// those are short, and its stack does not grow. No OpenMP or TBB: both clash with the threads of joblib users.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace topk {

class ThreadPool {
  public:
    explicit ThreadPool(int n_threads);  // the calling thread is one of them
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int size() const { return static_cast<int>(threads_.size()) + 1; }

    // Run task(0) ... task(n - 1), started in this order, and return when all have ended. Tasks must not throw. `idle`
    // is called every few milliseconds while this thread has nothing to do.
    void run(int depth, int n, const std::function<void(int)>& task, const std::function<void()>& idle);

  private:
    struct Group {
        int depth;
        int n;
        const std::function<void(int)>* task;
        int started = 0;
        int ended = 0;
    };

    void work();
    Group* next_group(int min_depth);
    void run_one(Group& group, std::unique_lock<std::mutex>& lock);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Group*> groups_;  // with tasks not yet started
    bool ending_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace topk
