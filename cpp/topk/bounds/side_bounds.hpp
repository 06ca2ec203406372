// Lower bounds for the sides of a node's splits, learnt from splits that were tried.
//
// For row sets A and S: S's best tree, applied to A, misclassifies at most the rows of A \ S in addition; hence
// cost(S) >= cost(A) - cost_scale * weight(A \ S). A side A of a tried split thus bounds the sides S of all other
// splits. Thresholds of one feature differ by few rows, so that one of them that is far too expensive rules out its
// neighbours. Precondition: every tree of S is a tree of A. True for costs that are minima over all columns; false for
// costs over the k best columns of each set (see LevelPlan::bounds_sides). If sides must have a minimum of rows or
// weight, it is true of the costs without the minimum: these are learnt, and no cost with it is lower.
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

// A tried split: the counts of its side A for every column, and lower bounds for the costs of both sides without a
// minimum of rows or weight per side.
template <class Count>
struct TriedSplit {
    std::span<const Count* const> rows;  // per class: weight of A's true rows per column; null if A has none
    Count weight;                        // of A
    std::int64_t cost[2];                // of A and of the other side
};

// Does learning pay on this data? Compares estimates of the processor cycles spent and saved. While it does not, one
// node in sixteen still tries.
class Payoff {
  public:
    bool try_it() { return saved_ >= spent_ || ++n_skipped_ % 16 == 0; }
    void spend(double cycles) {
        spent_ += cycles;
        if (spent_ > 1e6) {  // older measurements count less
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

// Per column: lower bounds for the false and the true side of a split of the node on it.
template <class Count>
class SideBounds {
  public:
    // Start again with a node, its weight included. Bounds are kept for the candidates only.
    void reset(const Counts<Count>& counts, Count weight, std::int64_t cost_scale, std::size_t n_columns,
               std::span<const std::int32_t> candidates, const Kernels& kernels) {
        weight_ = weight;
        cost_scale_ = cost_scale;
        n_columns_ = n_columns;
        few_ = kLanes * candidates.size() < n_columns ? candidates : std::span<const std::int32_t>();
        n_true_.ensure(n_columns);
        both_.ensure(n_columns);
        lower_false_.ensure(n_columns);
        lower_true_.ensure(n_columns);
        sum(counts.rows, kernels, n_true_);
        for_columns([&](std::size_t j) { lower_false_[j] = lower_true_[j] = 0; });
    }

    // Return the bound for one side of the split on this column, or for both together.
    std::int64_t lower(std::size_t column, bool side) const {
        return side ? lower_true_[column] : lower_false_[column];
    }
    std::int64_t lower(std::size_t column) const { return lower_false_[column] + lower_true_[column]; }

    void learn(const TriedSplit<Count>& split, const Kernels& kernels) {
        sum(split.rows, kernels, both_);
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

    // Estimate the processor cycles of one call of learn().
    double cycles() const {
        return 100 + (few_.empty() ? 2 * static_cast<double>(n_columns_) : 15 * static_cast<double>(few_.size()));
    }

  private:
    static constexpr std::size_t kLanes = 8;  // columns per step of the kernel

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
    void sum(std::span<const Count* const> rows, const Kernels& kernels, AlignedBuffer<Count>& out) {
        for_columns([&](std::size_t j) { out[j] = 0; });
        for (const Count* row : rows) {
            if (row == nullptr) {
                continue;
            }
            if constexpr (std::is_same_v<Count, std::int32_t>) {
                if (few_.empty()) {
                    kernels.add_product(row, 1, n_columns_, out.data());
                    continue;
                }
            }
            for_columns([&](std::size_t j) { out[j] += row[j]; });
        }
    }
    void raise(std::int64_t& bound, std::int64_t cost, Count missing) const {
        bound = std::max(bound, cost - static_cast<std::int64_t>(missing) * cost_scale_);
    }

    Count weight_ = 0;
    std::int64_t cost_scale_ = 1;
    std::size_t n_columns_ = 0;          // padded
    std::span<const std::int32_t> few_;  // the candidates if they are few; else empty, and all columns have bounds
    AlignedBuffer<Count> n_true_;
    AlignedBuffer<Count> both_;  // weight of the rows of A that are true
    AlignedBuffer<std::int64_t> lower_false_, lower_true_;
};

}  // namespace topk
