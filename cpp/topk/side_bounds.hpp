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
#include <vector>

#include "scoring.hpp"

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

// Per candidate of a node: what the false and the true side of a split on it cost at least.
template <class Count>
class SideBounds {
  public:
    void reset(const Counts<Count>& counts, Count weight, std::int64_t cost_scale,
               const std::vector<std::int32_t>& candidates) {
        weight_ = weight;
        cost_scale_ = cost_scale;
        entries_.resize(candidates.size());
        for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
            const auto column = static_cast<std::size_t>(candidates[rank]);
            entries_[rank] = {{0, 0}, column, 0};
            for (const Count* row : counts.rows) {
                entries_[rank].n_true += row[column];
            }
        }
    }

    // Of one side of the split on the candidate of this rank, and of both.
    std::int64_t lower(std::size_t rank, bool side) const { return entries_[rank].lower[side ? 1 : 0]; }
    std::int64_t lower(std::size_t rank) const { return lower(rank, false) + lower(rank, true); }

    // For the candidates from this rank on. `excess`: by how much the split is too expensive. Candidates that send so
    // much more or less weight to a side that they cannot be too expensive as well are passed over.
    void learn(const TriedSplit<Count>& split, std::int64_t excess, std::size_t first_rank) {
        const Count other_weight = weight_ - split.weight;
        for (std::size_t rank = first_rank; rank < entries_.size(); ++rank) {
            Entry& entry = entries_[rank];
            const Count moved = std::min(distance(entry.n_true, split.weight), distance(entry.n_true, other_weight));
            if (static_cast<std::int64_t>(moved) * cost_scale_ > excess) {
                continue;
            }
            Count both = 0;  // true, and in A
            for (const Count* row : split.rows) {
                both += row == nullptr ? Count{0} : row[entry.column];
            }
            const Count only_true = entry.n_true - both;
            const Count only_a = split.weight - both;
            const Count neither = other_weight - only_true;
            const auto cost_without = [&](int side, Count missing) {
                return split.cost[side] - static_cast<std::int64_t>(missing) * cost_scale_;
            };
            entry.lower[0] = std::max({entry.lower[0], cost_without(0, both), cost_without(1, only_true)});
            entry.lower[1] = std::max({entry.lower[1], cost_without(0, only_a), cost_without(1, neither)});
        }
    }

  private:
    struct Entry {
        std::int64_t lower[2];  // false, true
        std::size_t column;
        Count n_true;
    };

    static Count distance(Count a, Count b) { return a > b ? a - b : b - a; }

    Count weight_ = 0;
    std::int64_t cost_scale_ = 1;
    std::vector<Entry> entries_;
};

}  // namespace topk
