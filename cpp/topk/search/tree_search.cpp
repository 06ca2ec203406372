// Passes of growing k, the local search before the last of them, and reports.
#include "topk/search/tree_search.hpp"

#include <algorithm>
#include <utility>

#include "topk/base/validate.hpp"
#include "topk/search/refinement.hpp"
#include "topk/search/search.hpp"

namespace topk {
namespace {

// Where all thresholds of ordered groups are candidates, finding a tree for this k takes little time.
constexpr std::int32_t kNarrow = 8;
// Of a local search that the caller has asked for: the levels of a bottom subtree, and the columns that it tries at a
// node. With three levels, training errors are 3% lower and it takes 15 times as long.
constexpr int kBottom = 2;
constexpr std::size_t kTries = 64;
// The columns that a local search before the last pass tries at a node: first a few, then more.
constexpr std::size_t kFewTries = 32;
constexpr std::size_t kMoreTries = 128;

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
        report_better(*best, *space);
        return finish(*best, *space, false);
    }
}

// A search widens k step by step where a time limit may end it, or where somebody watches. Where all thresholds of
// ordered groups are candidates, the cost of a narrow tree comes first in any case.
template <class Count>
std::vector<std::int32_t> TreeSearch<Count>::widths() const {
    const std::int32_t widest = context_.plan.widest();
    std::vector<std::int32_t> widths;
    if (nodes_.has_chains(0)) {
        for (std::int32_t k = is_watched() ? 1 : kNarrow; k <= kNarrow && k < widest; k *= 2) {
            widths.push_back(k);
        }
    } else {
        for (std::int32_t k = 1; is_watched() && k < widest; k += std::min(k, widest - k)) {
            widths.push_back(k);
        }
    }
    widths.push_back(widest);
    return widths;
}

template <class Count>
void TreeSearch<Count>::find_best(Space& space, std::unique_ptr<TreeNode>& best) {
    nodes_.build_root(space);
    const bool refines = nodes_.has_chains(0) && is_watched();
    if (is_watched() && context_.plan.looks_ahead()) {
        nodes_.begin_pass(space, 1);
        best = reader_.greedy_tree(space, 0, nodes_.root());
        report_tree(*best, space);
        start_clock();
    }
    const std::vector<std::int32_t> all = widths();
    for (const std::int32_t& k : all) {
        const bool is_last = &k == &all.back();
        if (is_last && refines && best) {
            refine_before_last_pass(space, best);
        }
        // Trees of the cost already known are within the budget: the tree of a wider k may be another one.
        const std::int64_t budget = best ? best->cost + 1 : kInfinity;
        auto tree = run_pass(space, k, is_last ? std::min(budget, known_budget()) : budget);
        if (!best || tree->cost <= best->cost) {
            best = std::move(tree);
        }
        start_clock();
    }
    if (context_.options.objective.refine && context_.plan.height(0) > 0 && !context_.plan.is_optimal(0)) {
        refine_result(space, best);
    }
}

// The tree of the search is the start of a local search. Up to the height of a bottom subtree, that is the best tree of
// all columns.
template <class Count>
void TreeSearch<Count>::refine_result(Space& space, std::unique_ptr<TreeNode>& best) {
    const int height = context_.plan.height(0);
    nodes_.begin_pass(space, 1, std::min(kBottom, height));
    if (height > kBottom) {
        Refinement<Count>(nodes_, reader_, kBottom).improve(space, kTries, best);
    } else if (auto tree = reader_.read_tree(space, 0, nodes_.root(), best->cost); tree->cost < best->cost) {
        best = std::move(tree);
    }
    context_.root_record.choose(*best, context_.n_classes());
    report_better(*best, space);
}

// From the first tree on, the time limit applies.
template <class Count>
void TreeSearch<Count>::start_clock() {
    if (context_.options.tuning.time_limit > 0) {
        context_.monitor.set_time_limit(context_.options.tuning.time_limit);
    }
}

// The more levels a bottom subtree has, and the more columns are tried, the better the trees, and the longer it takes.
template <class Count>
void TreeSearch<Count>::refine_before_last_pass(Space& space, std::unique_ptr<TreeNode>& best) {
    const Node<Count>& root = nodes_.root();
    const std::int64_t lowest = context_.costs.lowest(root.whole.errors(), root.conflicts);
    const int height = context_.plan.height(0);
    for (int bottom = 2; bottom < height && best->cost > lowest; ++bottom) {
        nodes_.begin_pass(space, 1, bottom);
        Refinement<Count> refinement(nodes_, reader_, bottom);
        refinement.improve(space, kFewTries, best);
        report_better(*best, space);
        if (bottom < height - 1) {  // above them there is more than the root
            refinement.improve(space, kMoreTries, best);
            report_better(*best, space);
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
    auto tree = reader_.known_tree(space, 0, nodes_.root(), found.column);
    space.ticker = Ticker(context_.monitor);
    if (tree->cost < best->cost) {
        best = std::move(tree);
    }
}

template <class Count>
std::int64_t TreeSearch<Count>::known_budget() const {
    const std::int64_t known = context_.options.tuning.known_cost;
    return known < 0 || known >= kInfinity ? kInfinity : known + 1;
}

// Return the tree for at most k candidates per level.
template <class Count>
std::unique_ptr<TreeNode> TreeSearch<Count>::run_pass(Space& space, std::int32_t k, std::int64_t budget) {
    nodes_.begin_pass(space, k);
    auto tree = context_.plan.is_greedy() ? reader_.greedy_tree(space, 0, nodes_.root()) : search(space, budget);
    k_reached_ = k;
    context_.root_record.finish_pass();
    report_tree(*tree, space);
    return tree;
}

// The budget is above the cost of some tree, unless the caller was wrong about a known cost.
template <class Count>
std::unique_ptr<TreeNode> TreeSearch<Count>::search(Space& space, std::int64_t budget) {
    auto tree = reader_.read_tree(space, 0, nodes_.root(), budget);
    return tree->cost < budget ? std::move(tree) : reader_.read_tree(space, 0, nodes_.root(), kInfinity);
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

template <class Count>
void TreeSearch<Count>::report_better(const TreeNode& tree, const Space& space) {
    if (tree.cost < trace_.back().cost) {
        report_tree(tree, space);
    }
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
