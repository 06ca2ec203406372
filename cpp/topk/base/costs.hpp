// Costs of leaves and of trees with a single split, and a cost that no tree of a subset can go below.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "topk/base/types.hpp"

namespace topk {

// Above every cost; sums of two do not overflow.
inline constexpr std::int64_t kInfinity = std::numeric_limits<std::int64_t>::max() / 4;

class LeafCosts {
  public:
    explicit LeafCosts(const Objective& objective) : scale_(objective.cost_scale), penalty_(objective.leaf_penalty) {}

    // Return the cost of a leaf that misclassifies this weight.
    template <class Count>
    std::int64_t leaf(Count errors) const {
        return static_cast<std::int64_t>(errors) * scale_ + penalty_;
    }
    // Return the cost of two leaves that misclassify this weight in total; kInfinity for numeric max, which stands for
    // "no column can split the subset".
    template <class Count>
    std::int64_t two_leaves(Count errors) const {
        return errors == std::numeric_limits<Count>::max() ? kInfinity : leaf(errors) + penalty_;
    }
    // Return the fewest errors of two leaves that cost this much or more.
    std::int64_t errors_of(std::int64_t cost) const {
        return std::max<std::int64_t>(cost - 2 * penalty_ + scale_ - 1, 0) / scale_;
    }
    // Return a lower bound for all trees of a subset: a leaf costs its errors; every other tree has at least two leaves
    // and misclassifies at least the conflicts.
    template <class Count>
    std::int64_t lowest(Count errors, Count conflicts) const {
        return std::min(leaf(errors), leaf(conflicts) + penalty_);
    }

  private:
    std::int64_t scale_;
    std::int64_t penalty_;
};

}  // namespace topk
