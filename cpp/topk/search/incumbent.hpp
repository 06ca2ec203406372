// The best answer of one node so far, and what a candidate must cost to replace it.
//
// This is what makes the tree independent of the threads: an incumbent of an earlier rank prunes ties, one of a later
// rank only what is strictly worse, so the winner is always the first of the cheapest candidates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>

namespace topk {

inline constexpr std::int64_t kInfinity = std::numeric_limits<std::int64_t>::max() / 4;

class Incumbent {
  public:
    // `cost` to beat at the start: that of the leaf or the node's budget, both of which win ties.
    // `shared`: several threads use it.
    Incumbent(std::int64_t cost, bool shared) : shared_(shared), cost_(cost) {}

    std::int64_t budget(int rank) const {
        const auto guard = lock();
        return rank_ < rank ? cost_ : cost_ + 1;
    }
    void offer(int rank, std::int64_t cost) {
        const auto guard = lock();
        if (cost < cost_ || (cost == cost_ && rank < rank_)) {
            cost_ = cost;
            rank_ = rank;
        } else {
            lowest_pruned_ = std::min(lowest_pruned_, cost);
        }
    }
    std::int64_t cost() const { return cost_; }
    int rank() const { return rank_; }  // -1: no candidate has won
    std::int64_t lowest_pruned() const { return lowest_pruned_; }

  private:
    std::unique_lock<std::mutex> lock() const {
        return shared_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
    }

    mutable std::mutex mutex_;
    const bool shared_;
    std::int64_t cost_;
    int rank_ = -1;
    std::int64_t lowest_pruned_ = kInfinity;
};

}  // namespace topk
