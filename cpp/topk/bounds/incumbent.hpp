// The best result of one node so far, and the budget of the candidates that are still to be tried.
//
// This makes the tree independent of the order in which threads finish: an incumbent of an earlier rank prunes ties, an
// incumbent of a later rank prunes only what is strictly worse. So the winner is always the first of the cheapest
// candidates. `rank` is a candidate's place in the order of its node's candidates, 0 for the best score.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "topk/base/costs.hpp"

namespace topk {

class Incumbent {
  public:
    // `cost`: what a candidate must beat, the cost of the leaf or the node's budget; both win ties.
    // `shared`: several threads use it.
    Incumbent(std::int64_t cost, bool shared) : shared_(shared), cost_(cost) {}

    // A candidate of this rank matters only if it costs less than the budget.
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
