// The search of one node: the cheapest tree of a subset, by branch and bound over its candidates.
//
// A node is searched with a budget: its result matters only if it costs less. Costs below the budget are exact;
// others are lower bounds. This component owns the data in bits, the cache and the threads; the search of a
// whole tree (tree_search.hpp) and the enumeration of many trees (near_optimal.cpp) are built on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "topk/base/tree_node.hpp"
#include "topk/base/types.hpp"
#include "topk/bounds/incumbent.hpp"
#include "topk/bounds/subset_cache.hpp"
#include "topk/data/node.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/parallel/thread_pool.hpp"
#include "topk/search/candidate_group.hpp"
#include "topk/search/last_split.hpp"
#include "topk/search/lookahead.hpp"
#include "topk/search/search_context.hpp"
#include "topk/search/threshold_search.hpp"
#include "topk/search/workspace.hpp"

namespace topk {

struct Result {
    std::int64_t cost;    // exact if solved, else a lower bound that is not below the budget
    std::int32_t column;  // of the split, or kLeaf
    bool solved;
};

template <class Count>
class NodeSearch {
  public:
    using Space = Workspace<Count>;

    // `total`: the total weight of the rows. Precondition: data and options are valid and outlive this object.
    NodeSearch(const Data& data, const Options& options, const Kernels& kernels, std::int64_t total, Purpose purpose);

    // Must be called once, before any node is searched.
    void build_root(Space& space);
    // Begin a pass, as LevelPlan::narrow_to(). What is in the cache holds for one pass only.
    void begin_pass(Space& space, std::int32_t k, int tail = 0);

    // Search a node with at least two levels left. The result is exact below the budget.
    Result solve(Space& space, int level, const Node<Count>& node, std::int64_t budget);
    // Solve a node with one level left.
    Result solve_last(Space& space, int level, const Node<Count>& node);
    // Return the result of a node with at least one level left, from the cache if it is there.
    Result find_or_solve(Space& space, int level, const Node<Count>& node, std::int64_t budget);
    // Return the cost of the best tree that splits the node on the column, exact below the budget.
    std::int64_t split_cost(Space& space, int level, const Node<Count>& node, std::int32_t column, std::int64_t budget);

    // The same, side by side. Preconditions: there are ordered groups, and the node has at least two levels left.
    // `bounds`: what is known of the sides. `false_counts`: null, or as in LastLevel::take(); for two levels only.
    SideCosts split_sides(Space& space, int level, const Node<Count>& node, std::int32_t column, std::int64_t budget,
                          SideCosts bounds = {{0, 0}}, const Count* false_counts = nullptr);

    // Set the costs of the smaller child and of the larger one, given what is known of them. Their sum is exact below
    // the budget, else they are lower bounds. solve(child, budget) is the cost of a child that is not in the cache,
    // where `salt` tells such trees from others. Returns whether the children were counted.
    template <class Solve>
    bool child_costs(Space& space, int level, const Node<Count>& node, const Split<Count>& split_on,
                     std::int64_t budget, const Fingerprint& salt, std::int64_t cost[2], const Solve& solve);

    // Call task(space, i) for i < n. If `shared`, other threads take some of the calls as soon as they have nothing
    // else to do. `depth`: see task_depth().
    template <class Task>
    void for_tasks(Space& space, int depth, bool shared, int n, const Task& task);
    // Return the depth of tasks for ThreadPool::run(): those of a level, or of halves of its chains within halves.
    static int task_depth(int level, std::size_t n_halved = 0) { return 64 * level + static_cast<int>(n_halved); }
    // Are parts of a node's search tasks for other threads if each tries about so many candidates with two levels left?
    bool are_tasks(const Node<Count>& node, double n_tries) const;

    // Put the candidates of a node, first to last, into the level's buffers. Returns a cost that the best tree of one
    // of them does not exceed.
    std::int64_t rank_candidates(Space& space, int level, const Node<Count>& node);
    // Return the column of the best tree of a node with at least one level left, or kLeaf: of the cheapest the one with
    // the best score. Exact below the budget.
    std::int32_t best_column(Space& space, int level, const Node<Count>& node, std::int64_t budget);

    // Begin the record of the root's candidates.
    void list_root(Space& space, const Node<Count>& node, std::span<const std::int32_t> candidates);

    // Must the node be a leaf, whatever that costs?
    bool must_be_leaf(int level, const Node<Count>& node) const {
        return context_.plan.height(level) == 0 || node.counts.totals.size() < 2;
    }
    // Return the node as a leaf of a finished tree.
    std::unique_ptr<TreeNode> leaf(const Space& space, const Node<Count>& node) const;
    // Make the children of a split of a finished tree.
    void grow_children(Space& space, int level, const Node<Count>& node, const Split<Count>& split_on,
                       Node<Count> child[2]) const {
        context_.nodes.grow_children(node, split_on, context_.plan.height(level) == 1, space.counter, child);
    }

    // Return the node in a matrix that has no other rows, in the buffers of the level.
    const Node<Count>& with_all_rows(Space& space, int level, const Node<Count>& node) const;

    // Is the node searched along the chains of its thresholds?
    bool has_chains(int level) const {
        const bool lists_all = level == 0 && context_.options.tuning.exact_root;
        return has_groups() && !context_.enumerates && !lists_all && context_.plan.height(level) > 0 &&
               context_.plan.is_optimal(level);
    }
    // The best split of the root that this pass has found, if it searches along chains there; the column is kLeaf
    // before that.
    const Result& split_so_far() const { return split_; }
    void keep_split(std::int64_t cost, std::int32_t column);
    // Return the column of a node's best tree if it is known without a search, else kLeaf.
    std::int32_t known_column(Space& space, int level, const Node<Count>& node);

    SearchContext<Count>& context() { return context_; }
    const Node<Count>& root() const { return context_.nodes.root(); }
    bool has_cache() const { return cache_ != nullptr; }
    // Add up what all threads did, `space` being that of the calling thread.
    Statistics statistics(const Space& space) const;

  private:
    std::int64_t budget_or_none(std::int64_t budget) const {
        return context_.options.tuning.use_bounds ? budget : kInfinity;
    }
    bool has_groups() const { return !context_.data.groups.empty(); }
    // Do the children of this level's splits follow from counts alone (last_split.hpp)?
    bool ends_in_counts(int level) const { return context_.plan.height(level) == 2; }
    void list_best(Space& space, const Node<Count>& node, std::int32_t column, std::int64_t cost);
    bool is_long_search() const;
    bool visits_once() const;
    bool worth_compacting(Space& space, int level, const Node<Count>& node);
    bool reserve_rows(LevelBuffers<Count>& buffers, std::size_t n_rows);
    const Node<Count>& compacted(Space& space, int level, const Node<Count>& node);
    void merge_columns(LevelBuffers<Count>& buffers) const;
    std::int64_t shallower_cost(Space& space, int level, const Node<Count>& node);
    void try_candidates(Space& space, CandidateGroup<Count>& group, std::int64_t shallower, Incumbent& incumbent);
    void use_bounds(Space& space, CandidateGroup<Count>& group, std::int64_t shallower);
    void try_candidate(Space& space, CandidateGroup<Count>& group, int rank, Incumbent& incumbent);
    void run_tasks(Space& space, int depth, int n, const std::function<void(Space&, int)>& task);
    bool others_wait();
    double cycles_to_try(const Node<Count>& node) const;
    bool best_costs(Space& space, int level, const Node<Count>& node, const Split<Count>& split_on, std::int64_t budget,
                    std::int64_t cost[2]);
    std::int64_t split_cost_deep(Space& space, CandidateGroup<Count>& group, int rank, std::int64_t budget);

    SearchContext<Count> context_;
    std::unique_ptr<SubsetCache> cache_;  // null if it is not to be used
    LastSplit<Count> last_split_;
    Lookahead<Count> lookahead_;
    ThresholdSearch<Count> thresholds_;
    bool cache_is_used_ = false;                    // by a pass before the current one
    std::atomic<std::size_t> n_reserved_rows_ = 0;  // in the buffers of all threads
    std::unique_ptr<ThreadPool> pool_;              // null until the search has run for a while
    WorkspacePool<Count> spaces_;
    std::mutex split_mutex_;
    Result split_ = {kInfinity, kLeaf, false};  // the best split of the root so far
};

template <class Count>
template <class Task>
void NodeSearch<Count>::for_tasks(Space& space, int depth, bool shared, int n, const Task& task) {
    int i = 0;
    for (; i < n && !(shared && i + 1 < n && others_wait()); ++i) {
        task(space, i);
    }
    if (i < n) {
        run_tasks(space, depth, n - i, [&](Space& own, int nth) { task(own, i + nth); });
    }
}

template <class Count>
template <class Solve>
bool NodeSearch<Count>::child_costs(Space& space, int level, const Node<Count>& node, const Split<Count>& split_on,
                                    std::int64_t budget, const Fingerprint& salt, std::int64_t cost[2],
                                    const Solve& solve) {
    Node<Count>* child = space.level(level).child;
    const int height = context_.plan.height(level + 1);
    context_.nodes.open_children(node, split_on, space.counter, child);
    bool solved[2];
    for (int i = 0; i < 2; ++i) {
        const std::int64_t leaf = context_.costs.leaf(split_on.side(i).errors());
        cost[i] = std::max(context_.costs.lowest(split_on.side(i).errors(), child[i].conflicts), cost[i]);
        solved[i] = leaf <= cost[i];
        cost[i] = std::min(leaf, cost[i]);
        CacheEntry entry;
        if (!solved[i] && cache_ && cache_->find(child[i].fingerprint ^ salt, height, entry)) {
            ++space.cache_hits;
            cost[i] = std::max(cost[i], entry.cost);
            solved[i] = entry.solved;
        }
    }
    if ((solved[0] && solved[1]) || cost[0] + cost[1] >= budget) {
        return false;
    }
    context_.nodes.count_children(node, split_on, space.counter, child);
    const int first = split_on.side(0).errors() > split_on.side(1).errors() ? 0 : 1;
    for (const int i : {first, 1 - first}) {
        if (!solved[i]) {
            cost[i] = solve(child[i], budget_or_none(budget - cost[1 - i]));
        }
        if (cost[0] + cost[1] >= budget) {
            break;
        }
    }
    return true;
}

extern template class NodeSearch<std::int32_t>;
extern template class NodeSearch<std::int64_t>;

}  // namespace topk
