// What a search needs beside the data: buffers that are used again for every node, and what candidates share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "topk/base/memory.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"
#include "topk/data/node.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/parallel/stop.hpp"
#include "topk/score/scoring.hpp"
#include "topk/search/drawn_columns.hpp"
#include "topk/search/last_level.hpp"
#include "topk/search/side_bounds.hpp"

namespace topk {

// What one thread needs at one level of the search, used again for every node there.
template <class Count>
struct Level {
    Node<Count> child[2];  // smaller, larger
    AlignedBuffer<std::int64_t> keys;
    std::vector<std::int64_t> sorted_keys;
    std::vector<std::int32_t> candidates;
    BitMatrix dense_matrix;
    Node<Count> dense;  // the node itself with its rows moved together into dense_matrix
    SideBounds<Count> bounds;
};

// What the candidates of a node share while they are tried, by one thread or several.
template <class Count>
struct Family {
    const Node<Count>& node;
    const std::vector<std::int32_t>& candidates;
    const Kernels& kernels;
    SideBounds<Count>* bounds;  // null if they are not in use
    const bool shared;          // by several threads
    std::mutex mutex{};

    std::int32_t column(int rank) const { return candidates[static_cast<std::size_t>(rank)]; }
    std::span<const std::int32_t> next(int rank, std::size_t n) const {
        const auto first = static_cast<std::size_t>(rank);
        return {candidates.data() + first, std::min(n, candidates.size() - first)};
    }
    std::unique_lock<std::mutex> lock() { return shared ? std::unique_lock(mutex) : std::unique_lock<std::mutex>(); }
    std::int64_t lower(int rank) {
        const auto guard = lock();
        return bounds == nullptr ? 0 : bounds->lower(static_cast<std::size_t>(column(rank)));
    }
    std::int64_t lower(int rank, bool side) {
        const auto guard = lock();
        return bounds == nullptr ? 0 : bounds->lower(static_cast<std::size_t>(column(rank)), side);
    }
    // From a split that was tried with this budget. Returns whether there was something to learn.
    bool learn(const TriedSplit<Count>& split, std::int64_t budget) {
        if (bounds == nullptr || split.cost[0] + split.cost[1] <= budget) {
            return false;
        }
        const auto guard = lock();
        bounds->learn(split, kernels);
        return true;
    }
};

// Whether features are drawn before columns are scored and, on the last level, counted. If columns must be told apart
// by their rows, or the user scores them, all of them are needed.
inline bool draws_first(const Options& options, const SideLimits& limits) {
    return options.draw.n_features > 0 && options.draw.of_column.size() >= options.many_columns && !limits.track_rows &&
           !options.distinct_splits && options.criterion != Criterion::user;
}

// All of one thread of execution.
template <class Count>
struct Workspace {
    Workspace(Monitor& monitor, const Kernels& kernels, const Data& data, const Scorer& scorer, SideLimits limits,
              const Options& options)
        : ticker(monitor),
          counter(kernels, data.class_weight, ticker),
          levels(options.k.size() + 1),
          drawn(draws_first(options, limits) ? std::make_unique<DrawnColumns<Count>>(options.draw, limits.min_weight)
                                             : nullptr),
          last(kernels, scorer, limits, options.distinct_splits, data.n_columns, drawn.get()) {}

    Ticker ticker;
    Counter<Count> counter;
    std::vector<Level<Count>> levels;
    std::unique_ptr<DrawnColumns<Count>> drawn;  // null: features are drawn after all columns are scored, or not at all
    LastLevel<Count> last;
    Payoff payoff;
    std::int64_t nodes = 0;
    std::int64_t pruned = 0;
    std::int64_t cache_hits = 0;
};

}  // namespace topk
