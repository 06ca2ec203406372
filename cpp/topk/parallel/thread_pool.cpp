// One mutex and one condition variable: tasks take tens of microseconds or more, so neither is contended.
#include "topk/parallel/thread_pool.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

namespace topk {

ThreadPool::ThreadPool(int n_threads) {
    try {
        for (int i = 1; i < n_threads; ++i) {
            threads_.emplace_back([this] { work(); });
        }
    } catch (const std::exception&) {
        // The system has no more threads, or no more memory for them: those that have started do all the work.
    }
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

// The deepest group comes first, since other tasks wait for it.
ThreadPool::Group* ThreadPool::next_group(int min_depth) {
    Group* best = nullptr;
    for (Group* group : groups_) {
        if (group->depth >= min_depth && (best == nullptr || group->depth > best->depth)) {
            best = group;
        }
    }
    return best;
}

void ThreadPool::run_one(Group& group, const Task& task, std::unique_lock<std::mutex>& lock) {
    const int index = group.started++;
    if (group.started == group.n) {
        groups_.erase(std::find(groups_.begin(), groups_.end(), &group));
    }
    lock.unlock();
    task(index);
    lock.lock();
    if (++group.ended == group.n) {
        changed_.notify_all();  // the group may be gone after this
    }
}

void ThreadPool::work() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
        if (Group* group = next_group(0)) {
            run_one(*group, *group->task, lock);
        } else {
            is_idle_.store(true, std::memory_order_relaxed);
            changed_.wait(lock);
        }
    }
}

void ThreadPool::run(int depth, int n, const Task& own, const Task& elsewhere, const std::function<void()>& idle) {
    if (n == 0) {
        return;
    }
    Group group{depth, n, &elsewhere};
    std::unique_lock lock(mutex_);
    groups_.push_back(&group);
    is_idle_.store(false, std::memory_order_relaxed);
    changed_.notify_all();
    while (group.ended < n) {
        if (group.started < n) {
            run_one(group, own, lock);
        } else if (Group* next = next_group(depth)) {
            run_one(*next, *next->task, lock);
        } else {
            is_idle_.store(true, std::memory_order_relaxed);
            if (changed_.wait_for(lock, std::chrono::milliseconds(5)) == std::cv_status::timeout) {
                lock.unlock();
                idle();
                lock.lock();
            }
        }
    }
}

}  // namespace topk
