// The buffers of one thread, reused for every node, and the pool that gives them to tasks.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "topk/base/memory.hpp"
#include "topk/base/types.hpp"
#include "topk/bounds/last_bounds.hpp"
#include "topk/bounds/side_bounds.hpp"
#include "topk/candidates/drawn_columns.hpp"
#include "topk/candidates/last_level.hpp"
#include "topk/candidates/ordered_last.hpp"
#include "topk/candidates/ordered_ranking.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"
#include "topk/data/node.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/parallel/stop.hpp"
#include "topk/score/scoring.hpp"

namespace topk {

// The buffers of one thread at one level of the search.
template <class Count>
struct LevelBuffers {
    Node<Count> child[2];  // smaller, larger
    AlignedBuffer<ScoreKey> keys;
    std::vector<ScoreKey> sorted_keys;
    std::vector<std::int32_t> candidates;   // columns, best score first
    std::vector<std::int64_t> errors;       // of two leaves per candidate; only with ordered groups
    std::vector<std::int64_t> n_alike;      // columns that each candidate stands for, itself included
    std::vector<std::int32_t> listed;       // columns that a lookahead chooses from, best score first
    std::vector<std::int64_t> greedy_cost;  // per candidate, of the tree that a lookahead completes
    double passes = -1;                     // over a node's rows while it is searched, a moving average; -1: unknown
    BitMatrix dense_matrix;
    std::size_t reserved_rows = 0;  // for dense_matrix, as far as its rows are limited
    Node<Count> dense;              // the node itself, with its rows moved together into dense_matrix
    std::vector<std::size_t> kept;  // columns
    std::vector<std::int64_t> copies;
    std::vector<std::int32_t> places;  // of the candidates
    SideBounds<Count> bounds;
    SplitBuffers<Count> split;

    void expect(double n_passes) { passes = passes < 0 ? n_passes : 0.9 * passes + 0.1 * n_passes; }
};

// Are features drawn before columns are scored and, on the last level, counted? Not if columns must be told apart by
// their rows, if the user scores them, or with ordered groups: then all columns are needed.
inline bool draws_first(const Options& options, const SideLimits& limits, bool has_groups) {
    const Objective& objective = options.objective;
    return objective.draw.n_features > 0 && objective.draw.of_column.size() >= options.tuning.draw_first_columns &&
           !limits.track_rows && !objective.distinct_splits && objective.criterion != Criterion::user && !has_groups;
}

// Everything that one thread writes to while it searches.
template <class Count>
struct Workspace {
    Workspace(Monitor& monitor, const Kernels& kernels, const Data& data, const ColumnMap& columns,
              const Scorer& scorer, SideLimits limits, const Options& options)
        : ticker(monitor),
          counter(kernels, data.class_weight, ticker),
          levels(options.objective.k.size() + 1),
          drawn(draws_first(options, limits, !data.groups.empty())
                    ? std::make_unique<DrawnColumns<Count>>(options.objective, limits.min_weight)
                    : nullptr),
          last(kernels, scorer, limits, options.objective, drawn.get()),
          last_bounds(options.tuning.use_cache && options.tuning.use_bounds && data.groups.empty()
                          ? options.tuning.cache_bytes
                          : 0),
          view(data, limits),
          ordered(data, columns, options.objective, scorer, limits),
          ordered_last(data, columns, kernels, scorer, limits, options.objective, last) {}

    LevelBuffers<Count>& level(int level) { return levels[static_cast<std::size_t>(level)]; }

    Ticker ticker;
    Counter<Count> counter;
    std::vector<LevelBuffers<Count>> levels;
    std::unique_ptr<DrawnColumns<Count>> drawn;  // null: features are drawn after all columns are scored, or not at all
    LastLevel<Count> last;
    LastBounds last_bounds;
    std::vector<Fingerprint> paths;  // of the sides of a node's candidates: false side and true side of each
    AlignedBuffer<ScoreKey> keys;
    // Of a search along chains (threshold_search.hpp).
    std::vector<std::uint64_t> masks;
    Subset between;
    AlignedBuffer<Count> moved, end_counts;
    std::vector<AlignedBuffer<Count>> side_counts;
    OrderedView<Count> view;
    OrderedRanking<Count> ordered;
    OrderedLast<Count> ordered_last;
    Payoff payoff;
    std::int64_t nodes = 0;
    std::int64_t pruned = 0;
    std::int64_t cache_hits = 0;
};

// Workspaces for tasks of several threads: as many as tasks run at the same time.
template <class Count>
class WorkspacePool {
  public:
    using Space = Workspace<Count>;
    using Make = std::function<std::unique_ptr<Space>()>;

    WorkspacePool(Monitor& monitor, Make make) : monitor_(monitor), make_(std::move(make)) {}

    // Run a task with a workspace that no other task uses meanwhile. What it throws ends the search, not the thread.
    template <class Task>
    void run(const Task& task) {
        guard([&] {
            std::unique_ptr<Space> space = take();
            space->ticker = Ticker(monitor_);
            run_in(*space, task);
            const std::lock_guard lock(mutex_);
            unused_.push_back(std::move(space));
        });
    }
    // The same with a workspace of the caller's.
    template <class Task>
    void run_in(Space& space, const Task& task) {
        guard([&] { task(space); });
    }

    // Precondition: no task is running.
    const std::vector<std::unique_ptr<Space>>& spaces() const { return unused_; }

  private:
    template <class Call>
    void guard(const Call& call) {
        monitor_.check(monitor_.called_from_here());  // tasks may be too short for their tickers to do it
        if (monitor_.stopped()) {
            return;
        }
        try {
            call();
        } catch (const Stopped&) {
            // The monitor knows the reason.
        } catch (...) {
            monitor_.fail(std::current_exception());
        }
    }
    std::unique_ptr<Space> take() {
        const std::lock_guard guard(mutex_);
        if (unused_.empty()) {
            return make_();
        }
        std::unique_ptr<Space> space = std::move(unused_.back());
        unused_.pop_back();
        return space;
    }

    Monitor& monitor_;
    const Make make_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Space>> unused_;
};

}  // namespace topk
