// Everything that the parts of a search share: the problem, the plan, the scores, the nodes, and progress reports.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "topk/base/costs.hpp"
#include "topk/base/tree_node.hpp"
#include "topk/base/types.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/parallel/stop.hpp"
#include "topk/score/scoring.hpp"
#include "topk/search/level_plan.hpp"
#include "topk/search/node_factory.hpp"
#include "topk/search/workspace.hpp"

namespace topk {

// An enumeration needs fingerprints of the rows, and with distinct_splits no two of its candidates may divide the rows
// alike, even if all columns are candidates. For the best tree alone, such candidates only lose ties.
enum class Purpose { best_tree, enumeration };

// A record of the root's candidates and their costs, for the result's statistics.
class RootRecord {
  public:
    // Start a list of candidates, before any of them is tried.
    void list(std::span<const std::int32_t> candidates, std::size_t n_classes) {
        const std::size_t n_weighed = std::min(candidates.size(), RootChoices::kWeighed);
        current_.n_candidates = static_cast<std::int64_t>(candidates.size());
        current_.column.assign(candidates.begin(), candidates.end());
        current_.cost.assign(candidates.size(), 0);
        current_.exact.assign(candidates.size(), 0);
        current_.true_weight.assign(n_weighed * n_classes, 0);
    }
    // Note what a lookahead has found about the candidates.
    void complete(std::span<const std::int64_t> greedy_cost) {
        current_.greedy_cost.assign(greedy_cost.begin(), greedy_cost.end());
    }
    // Note the weights of a candidate; of those that are listed late, none are kept.
    template <class Count>
    void weigh(std::size_t rank, const Counts<Count>& counts, const Split<Count>& split_on) {
        const std::size_t n_classes =
            current_.true_weight.size() / std::min(current_.column.size(), RootChoices::kWeighed);
        for (std::size_t c = 0; c < counts.totals.size() && rank < RootChoices::kWeighed; ++c) {
            const auto class_index = static_cast<std::size_t>(counts.class_index[c]);
            current_.true_weight[rank * n_classes + class_index] = split_on.total(c, true);
        }
    }
    // Threads note different candidates, so that no lock is needed.
    void note(int rank, std::int64_t cost, bool exact) {
        current_.cost[static_cast<std::size_t>(rank)] = cost;
        current_.exact[static_cast<std::size_t>(rank)] = exact ? 1 : 0;
    }
    void finish_pass() { finished_ = std::exchange(current_, {}); }
    // Note a tree that is better than those of the last pass. Its split may be none of the candidates.
    void choose(const TreeNode& tree, std::size_t n_classes) {
        if (tree.column == kLeaf) {
            return;
        }
        std::vector<std::int32_t>& columns = finished_.column;
        const auto rank =
            static_cast<std::size_t>(std::find(columns.begin(), columns.end(), tree.column) - columns.begin());
        if (rank == columns.size()) {
            columns.push_back(tree.column);
            finished_.cost.push_back(0);
            finished_.exact.push_back(0);
            weigh(rank, *tree.child[1], n_classes);
        }
        finished_.cost[rank] = tree.cost;
        finished_.exact[rank] = 1;
    }
    // Return the record of the last pass that ran to completion.
    const RootChoices& finished() const { return finished_; }

  private:
    void weigh(std::size_t rank, const TreeNode& true_side, std::size_t n_classes) {
        if (rank < RootChoices::kWeighed) {
            finished_.true_weight.resize((rank + 1) * n_classes, 0);
            for (std::size_t c = 0; c < true_side.class_index.size(); ++c) {
                const auto class_index = static_cast<std::size_t>(true_side.class_index[c]);
                finished_.true_weight[rank * n_classes + class_index] = true_side.class_weight[c];
            }
        }
    }

    RootChoices current_;
    RootChoices finished_;
};

// Numbers for progress reports, written by all threads.
class LiveNumbers {
  public:
    void add_nodes(std::int64_t n) { nodes_.fetch_add(n, std::memory_order_relaxed); }
    // Lower the best cost at the root; it never rises.
    void lower_cost(std::int64_t cost) {
        std::int64_t known = cost_.load(std::memory_order_relaxed);
        while ((known < 0 || cost < known) && !cost_.compare_exchange_weak(known, cost, std::memory_order_relaxed)) {
        }
    }
    std::int64_t nodes() const { return nodes_.load(std::memory_order_relaxed); }
    std::int64_t cost() const { return cost_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::int64_t> nodes_ = 0;
    std::atomic<std::int64_t> cost_ = -1;  // -1: none yet
};

template <class Count>
struct SearchContext {
    // `total`: the total weight of the rows. Precondition: data and options are valid and outlive this object.
    SearchContext(const Data& data_in, const Options& options_in, const Kernels& kernels_in, std::int64_t total,
                  Purpose purpose)
        : data(data_in),
          options(options_in),
          kernels(kernels_in),
          enumerates(purpose == Purpose::enumeration),
          is_weighted(has_weights(data)),
          limits(side_limits(data, options.objective)),
          costs(options.objective),
          plan(options, limits, ColumnMap(data).n_columns(), data.groups.empty()),
          monitor(make_poll()),
          scorer(options.objective, data.n_columns + 64 * data.groups.size(), data.n_classes, total, limits.min_weight,
                 kernels, table_size(data)),
          nodes(data, kernels, limits.track_rows) {}

    std::unique_ptr<Workspace<Count>> make_space() {
        return std::make_unique<Workspace<Count>>(monitor, kernels, data, nodes.columns(), scorer, limits, options);
    }
    // May columns that divide the rows of a node alike be counted as one? Not if they could score differently, have
    // different features, or are all to be listed.
    bool merges_columns() const {
        const Objective& objective = options.objective;
        return !enumerates && data.groups.empty() && objective.second_reading.empty() &&
               objective.draw.n_features == 0 && scorer.is_symmetric();
    }
    // Score the columns that can be candidates of a node on this level.
    void score(Workspace<Count>& space, int level, const Node<Count>& node, ScoreKey* keys) const;
    // Put the k best columns of the node, best first, into the level's buffers.
    void rank_candidates(Workspace<Count>& space, int level, const Node<Count>& node) const;
    // Return the column with the best score, or kLeaf.
    std::int32_t best_column(Workspace<Count>& space, int level, const Node<Count>& node) const;
    // The same for a node with ordered groups, as the request says.
    void rank_ordered(Workspace<Count>& space, int level, const Node<Count>& node,
                      const typename OrderedRanking<Count>::Request& request) const;
    std::size_t n_classes() const { return static_cast<std::size_t>(data.n_classes); }

    // The shared number is updated in steps: threads would compete for it.
    void count_nodes(Workspace<Count>& space, std::int64_t n) {
        constexpr std::int64_t kStep = 1024;
        if ((space.nodes + n) / kStep != space.nodes / kStep) {
            live.add_nodes(kStep);
        }
        space.nodes += n;
    }

    const Data& data;
    const Options& options;
    const Kernels& kernels;
    const bool enumerates;
    const bool is_weighted;  // some rows weigh more than 1
    const SideLimits limits;
    const LeafCosts costs;
    LevelPlan plan;
    LiveNumbers live;
    Monitor monitor;
    Scorer scorer;
    NodeFactory<Count> nodes;
    RootRecord root_record;

  private:
    // Thresholds of ordered groups are scored one after the other, so that a table for every number of rows is soon
    // paid for; one for every sum of weights may be too large.
    static std::int64_t table_size(const Data& data) {
        constexpr std::int64_t kLargest = std::int64_t{1} << 22;
        const std::int64_t wanted = data.groups.empty() ? 0 : static_cast<std::int64_t>(data.n_rows) + 1;
        return std::clamp(wanted, Scorer::kTableSize, kLargest);
    }

    void rank_drawn(Workspace<Count>& space, int level, const Node<Count>& node) const;
    std::function<void()> make_poll() {
        if (!options.callbacks.poll) {
            return {};
        }
        return [this] { options.callbacks.poll({monitor.seconds(), plan.pass_k(), live.nodes(), live.cost()}); };
    }
};

extern template struct SearchContext<std::int32_t>;
extern template struct SearchContext<std::int64_t>;

}  // namespace topk
