// Lower bounds of the children of a node's splits, learnt from splits already tried.
//
// The best tree of a set costs at most the weight of the rows it has more than another set's best tree: that tree will
// do, and gets at worst the additional rows wrong. So the side A of a split that is known to cost c bounds any other
// set S by c less the weight of A without S. Thresholds of one feature differ by few rows, so one of them that is far
// too expensive rules out its neighbours. This holds where the trees of both sets come from the same columns: always
// for a bound over all columns, never for one over the k best, and not if leaves must have a minimum of rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "topk/base/memory.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/score/scoring.hpp"

namespace topk {

// What is known of a split: the counts of its side A for every column, and costs that neither side goes below.
template <class Count>
struct TriedSplit {
    std::span<const Count* const> rows;  // per class: weight of A's true rows per column; null if A has none
    Count weight;                        // of A
    std::int64_t cost[2];                // of A, and of the other side
};

// Whether learning pays, on this data: what it takes against what it saves, in processor cycles, roughly. While it does
// not, one node in sixteen still tries.
class Payoff {
  public:
    bool try_it() { return saved_ >= spent_ || ++n_skipped_ % 16 == 0; }
    void spend(double cycles) {
        spent_ += cycles;
        if (spent_ > 1e6) {  // what was long ago counts less
            spent_ /= 2;
            saved_ /= 2;
        }
    }
    void save(double cycles) { saved_ += cycles; }

  private:
    double spent_ = 0;
    double saved_ = 1e4;
    unsigned n_skipped_ = 0;
};

// Per column: what the false and the true side of a split of the node on it cost at least.
template <class Count>
class SideBounds {
  public:
    // Only the candidates' bounds will be asked for.
    void reset(const Counts<Count>& counts, Count weight, std::int64_t cost_scale, std::size_t n_columns,
               std::span<const std::int32_t> candidates) {
        weight_ = weight;
        cost_scale_ = cost_scale;
        n_columns_ = n_columns;
        few_ = kLanes * candidates.size() < n_columns ? candidates : std::span<const std::int32_t>();
        n_true_.ensure(n_columns);
        both_.ensure(n_columns);
        lower_false_.ensure(n_columns);
        lower_true_.ensure(n_columns);
        sum(counts.rows, n_true_);
        for_columns([&](std::size_t j) { lower_false_[j] = lower_true_[j] = 0; });
    }

    // Of one side of the split on this column, and of both.
    std::int64_t lower(std::size_t column, bool side) const {
        return side ? lower_true_[column] : lower_false_[column];
    }
    std::int64_t lower(std::size_t column) const { return lower_false_[column] + lower_true_[column]; }

    void learn(const TriedSplit<Count>& split, const Kernels& kernels) {
        sum(split.rows, both_);
        if constexpr (std::is_same_v<Count, std::int32_t>) {
            if (few_.empty()) {
                kernels.raise_bounds({both_.data(), n_true_.data(), split.weight, weight_ - split.weight, cost_scale_,
                                      split.cost[0], split.cost[1], lower_false_.data(), lower_true_.data()},
                                     n_columns_);
                return;
            }
        }
        for_columns([&](std::size_t j) {
            const Count only_true = n_true_[j] - both_[j];
            raise(lower_false_[j], split.cost[0], both_[j]);
            raise(lower_false_[j], split.cost[1], only_true);
            raise(lower_true_[j], split.cost[0], split.weight - both_[j]);
            raise(lower_true_[j], split.cost[1], weight_ - split.weight - only_true);
        });
    }

    // Of a call of learn(), roughly.
    double cycles() const {
        return 100 + (few_.empty() ? 2 * static_cast<double>(n_columns_) : 15 * static_cast<double>(few_.size()));
    }

  private:
    static constexpr std::size_t kLanes = 8;  // columns that the kernel takes at once

    template <class Visit>
    void for_columns(Visit visit) const {
        if (few_.empty()) {
            for (std::size_t j = 0; j < n_columns_; ++j) {
                visit(j);
            }
        }
        for (const std::int32_t column : few_) {
            visit(static_cast<std::size_t>(column));
        }
    }
    void sum(std::span<const Count* const> rows, AlignedBuffer<Count>& out) {
        for_columns([&](std::size_t j) { out[j] = 0; });
        for (const Count* row : rows) {
            if (row != nullptr) {
                for_columns([&](std::size_t j) { out[j] += row[j]; });
            }
        }
    }
    void raise(std::int64_t& bound, std::int64_t cost, Count missing) const {
        bound = std::max(bound, cost - static_cast<std::int64_t>(missing) * cost_scale_);
    }

    Count weight_ = 0;
    std::int64_t cost_scale_ = 1;
    std::size_t n_columns_ = 0;          // padded
    std::span<const std::int32_t> few_;  // the candidates, if they are few; otherwise all columns are kept
    AlignedBuffer<Count> n_true_;
    AlignedBuffer<Count> both_;  // true, and in A
    AlignedBuffer<std::int64_t> lower_false_, lower_true_;
};

}  // namespace topk
