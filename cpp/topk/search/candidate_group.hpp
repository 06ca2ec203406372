// The candidates of a node while one or several threads try them, and what they learn from each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>

#include "topk/bounds/side_bounds.hpp"
#include "topk/data/node.hpp"
#include "topk/kernels/kernels.hpp"

namespace topk {

template <class Count>
struct CandidateGroup {
    const int level;
    const Node<Count>& node;
    std::span<const std::int32_t> candidates;  // columns, best score first
    const Kernels& kernels;
    const bool shared;                    // by several threads
    std::int64_t lower = 0;               // no tree of the node costs less
    SideBounds<Count>* bounds = nullptr;  // null if tried splits do not bound others
    std::mutex mutex{};

    int size() const { return static_cast<int>(candidates.size()); }
    std::int32_t column(int rank) const { return candidates[static_cast<std::size_t>(rank)]; }
    std::size_t place(int rank) const { return static_cast<std::size_t>(node.matrix->place_of(column(rank))); }
    // The columns of at most n candidates, from this rank on.
    std::span<const std::int32_t> next(int rank, std::size_t n) const {
        const auto first = static_cast<std::size_t>(rank);
        return candidates.subspan(first, std::min(n, candidates.size() - first));
    }
    std::unique_lock<std::mutex> lock() { return shared ? std::unique_lock(mutex) : std::unique_lock<std::mutex>(); }
    // Lower bounds for the split of this rank and for one of its sides.
    std::int64_t split_bound(int rank) {
        const auto guard = lock();
        return bounds == nullptr ? 0 : bounds->lower(place(rank));
    }
    std::int64_t side_bound(int rank, bool side) {
        const auto guard = lock();
        return bounds == nullptr ? 0 : bounds->lower(place(rank), side);
    }
    // Learn from a split that was tried with this budget. Returns whether there was something to learn: only a split
    // that is more expensive than the budget says something about splits that could be pruned.
    bool learn(const TriedSplit<Count>& split, std::int64_t budget) {
        if (bounds == nullptr || split.cost[0] + split.cost[1] <= budget) {
            return false;
        }
        const auto guard = lock();
        bounds->learn(split, kernels);
        return true;
    }
};

}  // namespace topk
