// Passes, the greedy tree, and the tree that the cache leads to.
#include "topk/search/tree_search.hpp"

#include <algorithm>
#include <utility>

#include "topk/base/validate.hpp"
#include "topk/search/search.hpp"

namespace topk {
namespace {

// Make `tree` a split with these children.
template <class Count>
void join(TreeNode& tree, const Split<Count>& split_on, std::unique_ptr<TreeNode> small,
          std::unique_ptr<TreeNode> large) {
    tree.cost = small->cost + large->cost;
    tree.column = split_on.column();
    tree.child[split_on.small_side() ? 1 : 0] = std::move(small);
    tree.child[split_on.small_side() ? 0 : 1] = std::move(large);
}

}  // namespace

template <class Count>
Solution TreeSearch<Count>::run() {
    const std::unique_ptr<Space> space = context_.make_space();
    std::unique_ptr<TreeNode> best;
    try {
        find_best(*space, best);
        return finish(*best, *space, true);
    } catch (const Stopped&) {
        context_.monitor.rethrow();
        take_unfinished(*space, best);
        return finish(*best, *space, false);
    }
}

// A search widens k step by step where a time limit may end it, or where somebody watches. Where all thresholds of
// ordered groups are candidates, the cost of a narrow tree comes first in any case, and trees whose last levels are the
// best of all come before the last pass: they take less time.
template <class Count>
auto TreeSearch<Count>::passes() const -> std::vector<Pass> {
    const std::int32_t widest = context_.plan.widest();
    const bool is_watched = context_.options.tuning.time_limit > 0 || context_.options.callbacks.on_tree;
    std::vector<Pass> passes;
    if (nodes_.has_chains(0)) {
        for (int tail = 0; tail == 0 || (is_watched && tail < context_.plan.height(0)); tail += tail == 0 ? 2 : 1) {
            const std::int32_t most = tail == 0 ? 8 : tail == 2 ? 16 : 2;
            for (std::int32_t k = is_watched ? 1 : most; k <= most && k < widest; k *= 2) {
                passes.push_back({k, tail});
            }
        }
    } else {
        for (std::int32_t k = 1; is_watched && k<widest; k = k> widest / 2 ? widest : 2 * k) {
            passes.push_back({k, 0});
        }
    }
    passes.push_back({widest, 0});
    return passes;
}

template <class Count>
void TreeSearch<Count>::find_best(Space& space, std::unique_ptr<TreeNode>& best) {
    nodes_.build_root(space);
    const std::vector<Pass> all = passes();
    for (const Pass& pass : all) {
        // Trees of the cost already known are within the budget: the tree of a wider k may be another one.
        const std::int64_t budget = best ? best->cost + 1 : kInfinity;
        auto tree = run_pass(space, pass, &pass == &all.back() ? std::min(budget, known_budget()) : budget);
        if (!best || tree->cost <= best->cost) {
            best = std::move(tree);
        }
        if (&pass == all.data() && context_.options.tuning.time_limit > 0) {
            context_.monitor.set_time_limit(context_.options.tuning.time_limit);
        }
    }
}

// After a search was stopped: the last pass may have found a better tree than those before it.
template <class Count>
void TreeSearch<Count>::take_unfinished(Space& space, std::unique_ptr<TreeNode>& best) {
    const Result& found = nodes_.split_so_far();
    if (found.cost >= best->cost) {
        return;
    }
    Monitor without_limit({});
    space.ticker = Ticker(without_limit);
    auto tree = known_tree(space, 0, nodes_.root(), found.column);
    space.ticker = Ticker(context_.monitor);
    if (tree->cost < best->cost) {
        best = std::move(tree);
        report_tree(*best, space);
    }
}

// Return the tree of a node, given the column of its split or kLeaf, as far as the cache remembers it. Nodes that a
// bound has shown to be leaves are not in the cache; nodes that it has forgotten become leaves as well.
template <class Count>
std::unique_ptr<TreeNode> TreeSearch<Count>::known_tree(Space& space, int level, const Node<Count>& node,
                                                        std::int32_t column) {
    auto tree = nodes_.leaf(space, node);
    if (column == kLeaf) {
        return tree;
    }
    const Split<Count> split_on = context_.nodes.split_on(node, column, space.counter, space.level(level).split);
    Node<Count> child[2];
    std::unique_ptr<TreeNode> below[2];
    nodes_.grow_children(space, level, node, split_on, child);
    for (int i = 0; i < 2; ++i) {
        below[i] = known_tree(space, level + 1, child[i], nodes_.known_column(space, level + 1, child[i]));
    }
    join(*tree, split_on, std::move(below[0]), std::move(below[1]));
    return tree;
}

template <class Count>
std::int64_t TreeSearch<Count>::known_budget() const {
    const std::int64_t known = context_.options.tuning.known_cost;
    return known < 0 || known >= kInfinity ? kInfinity : known + 1;
}

// Return the tree for at most k candidates per level.
template <class Count>
std::unique_ptr<TreeNode> TreeSearch<Count>::run_pass(Space& space, Pass pass, std::int64_t budget) {
    nodes_.begin_pass(space, pass.k, pass.tail);
    auto tree = context_.plan.is_greedy() ? greedy_tree(space, 0, nodes_.root())
                : pass.tail > 0           ? read_tree(space, 0, nodes_.root(), budget)
                                          : search(space, budget);
    k_reached_ = std::max(k_reached_, pass.k);  // with a tail, the tree costs at most as much as that of k alone
    context_.root_record.finish_pass();
    report_tree(*tree, space);
    return tree;
}

// The budget is above the cost of some tree, unless the caller was wrong about a known cost.
template <class Count>
std::unique_ptr<TreeNode> TreeSearch<Count>::search(Space& space, std::int64_t budget) {
    auto tree = read_tree(space, 0, nodes_.root(), budget);
    return tree->cost < budget ? std::move(tree) : read_tree(space, 0, nodes_.root(), kInfinity);
}

// Add the tree of a pass to the trace, and show it to the caller if it is better than those before it.
template <class Count>
void TreeSearch<Count>::report_tree(const TreeNode& tree, const Space& space) {
    const bool better = trace_.empty() || tree.cost < trace_.back().cost;
    if (!better && tree.cost > trace_.back().cost) {
        return;
    }
    context_.live.lower_cost(tree.cost);
    trace_.push_back({context_.monitor.seconds(), k_reached_, tree.cost});
    if (better && context_.options.callbacks.on_tree) {
        context_.options.callbacks.on_tree(finish(tree, space, false));
    }
}

// Return the column with the best score, or kLeaf.
template <class Count>
std::int32_t TreeSearch<Count>::best_column(Space& space, int level, const Node<Count>& node) const {
    LevelBuffers<Count>& buffers = space.level(level);
    if (!context_.data.groups.empty()) {
        context_.rank_candidates(space, level, node);
        return buffers.candidates.empty() ? kLeaf : buffers.candidates[0];
    }
    ScoreKey* keys = buffers.keys.ensure(node.matrix->n_columns);
    context_.score(space, level, node, keys);
    const ScoreKey best = *std::max_element(keys, keys + context_.data.n_columns);
    return best == kNoScoreKey ? kLeaf : column_of(best);
}

// With one candidate per node there is nothing to search: split while possible, then keep the splits that pay.
template <class Count>
std::unique_ptr<TreeNode> TreeSearch<Count>::greedy_tree(Space& space, int level, const Node<Count>& node) {
    auto tree = nodes_.leaf(space, node);
    if (nodes_.must_be_leaf(level, node)) {
        return tree;
    }
    context_.count_nodes(space, 1);
    LevelBuffers<Count>& buffers = space.level(level);
    const std::int32_t column = best_column(space, level, node);
    if (column == kLeaf) {
        return tree;
    }
    if (level == 0) {
        nodes_.list_root(space, node, {&column, 1});
    }
    const Split<Count> split_on = context_.nodes.split_on(node, column, space.counter, buffers.split);
    nodes_.grow_children(space, level, node, split_on, buffers.child);
    std::unique_ptr<TreeNode> below[2];  // of the smaller child and of the larger one
    nodes_.for_tasks(space, nodes_.task_depth(level), nodes_.are_tasks(node, 1), 2,
                     [&](Space& own, int i) { below[i] = greedy_tree(own, level + 1, buffers.child[i]); });
    const std::int64_t cost = below[0]->cost + below[1]->cost;
    if (level == 0) {
        context_.root_record.note(0, cost, true);
    }
    if (cost < tree->cost) {
        join(*tree, split_on, std::move(below[0]), std::move(below[1]));
    }
    return tree;
}

// Return the tree that the search found, from the root down: columns come from the cache or are searched for again.
template <class Count>
std::unique_ptr<TreeNode> TreeSearch<Count>::read_tree(Space& space, int level, const Node<Count>& node,
                                                       std::int64_t budget) {
    auto tree = nodes_.leaf(space, node);
    if (nodes_.must_be_leaf(level, node)) {
        return tree;
    }
    const std::int32_t column = nodes_.best_column(space, level, node, std::min(budget, tree->cost + 1));
    if (column == kLeaf) {
        return tree;
    }
    const Split<Count> split_on = context_.nodes.split_on(node, column, space.counter, space.level(level).split);
    Node<Count> child[2];
    nodes_.grow_children(space, level, node, split_on, child);
    auto small_tree = read_tree(space, level + 1, child[0], kInfinity);
    auto large_tree = read_tree(space, level + 1, child[1], kInfinity);
    join(*tree, split_on, std::move(small_tree), std::move(large_tree));
    return tree;
}

template <class Count>
Statistics TreeSearch<Count>::statistics(const Space& space) const {
    Statistics statistics = nodes_.statistics(space);
    statistics.k_reached = k_reached_;
    statistics.trace = trace_;
    return statistics;
}

template <class Count>
Solution TreeSearch<Count>::finish(const TreeNode& tree, const Space& space, bool complete) const {
    Solution solution = flatten(tree, context_.n_classes());
    solution.complete = complete;
    solution.statistics = statistics(space);
    return solution;
}

template class TreeSearch<std::int32_t>;
template class TreeSearch<std::int64_t>;

namespace {

template <class Count>
Solution solve_as(const Data& data, const Options& options, const Kernels& kernels, std::int64_t total) {
    NodeSearch<Count> nodes(data, options, kernels, total, Purpose::best_tree);
    return TreeSearch<Count>(nodes).run();
}

}  // namespace

// Counts have 32 bits wherever the total weight fits: twice as many columns per vector register.
Solution solve(const Data& data, const Options& options) {
    const std::int64_t total = validate(data, options);
    const Kernels& kernels = find_kernels(options.tuning.kernel);
    return total < INT32_MAX ? solve_as<std::int32_t>(data, options, kernels, total)
                             : solve_as<std::int64_t>(data, options, kernels, total);
}

}  // namespace topk
