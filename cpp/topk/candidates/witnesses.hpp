// Splits that scored well on one subset are likely to score well on a similar one.
//
// Children of neighbouring thresholds differ by few rows. If k witnesses score higher than every split with few errors,
// none of these is among the k best, and the child is settled without ranking the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "topk/candidates/kth_score.hpp"
#include "topk/candidates/ordered_view.hpp"
#include "topk/score/scoring.hpp"

namespace topk {

// Splits of a subset: columns of its matrix, and the thresholds in some blocks of the grid.
struct SplitList {
    struct Block {
        std::size_t group;
        std::size_t block;
        bool operator==(const Block&) const = default;
    };
    std::vector<std::size_t> columns;
    std::vector<Block> blocks;

    void clear() {
        columns.clear();
        blocks.clear();
    }
    std::size_t size() const { return columns.size() + blocks.size(); }
};

// One per thread of execution.
template <class Count>
class Witnesses {
  public:
    explicit Witnesses(const Scorer& scorer) : scorer_(scorer) {}

    // Return a lower bound of the fewest errors of the k best splits of a subset, `wanted` at most. `open`: the splits
    // that may have fewer errors than that. Preconditions: each column that can split the subset takes one of the k
    // places, whatever its feature and its rows; rows are not tracked.
    std::int64_t errors_bound(OrderedView<Count>& view, std::size_t k, const SplitList& witnesses,
                              const SplitList& open, std::int64_t wanted);

  private:
    struct Found {
        std::int64_t score;
        std::int64_t errors;
    };

    void look_at(OrderedView<Count>& view, const SplitList::Block& block);

    const Scorer& scorer_;
    NodeTerms terms_;
    KthScore best_;
    std::vector<Found> found_;  // thresholds in blocks
    LeftSide low_, high_;
};

extern template class Witnesses<std::int32_t>;
extern template class Witnesses<std::int64_t>;

}  // namespace topk
