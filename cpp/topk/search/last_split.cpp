// Bounds first, counts next, ranks last: most splits are settled before their children's columns are ranked.
#include "topk/search/last_split.hpp"

#include <algorithm>
#include <limits>

namespace topk {
namespace {

// The children of this many candidates of a large node are counted in one pass over its rows.
constexpr std::size_t kBatch = 8;
// Counts of a batch that take no more bytes than this do not matter.
constexpr std::size_t kSmallBatch = std::size_t{1} << 20;

}  // namespace

// Do the node's rows not stay in the second-level cache from one candidate to the next? With so many classes that the
// counts of a batch would take more memory than the rows, its children are counted one by one.
template <class Count>
bool LastSplit<Count>::is_large(const Node<Count>& node) const {
    const std::size_t n_columns = node.matrix->n_columns;
    const std::size_t row_bytes = node.subset.words.size() * n_columns * sizeof(std::uint64_t);
    const std::size_t count_bytes = kBatch * node.counts.rows.size() * n_columns * sizeof(Count);
    return !context_.nodes.has_planes() && row_bytes > context_.options.tuning.large_node_bytes &&
           count_bytes <= std::max(row_bytes, kSmallBatch);
}

template <class Count>
void LastSplit<Count>::begin(Space& space, const CandidateGroup<Count>& group) const {
    space.last.begin(group.node);
    space.paths.clear();
    // Costs hold for one k of the last level.
    const Fingerprint k_hash = {0, context_.plan.k(group.level + 1) * 0x9e3779b97f4a7c15U};
    for (int rank = 0; rank < group.size() && space.last_bounds.is_used(); ++rank) {
        for (const bool side : {false, true}) {
            space.paths.push_back(context_.nodes.path(group.node, group.column(rank), side) ^ k_hash);
            space.last_bounds.expect(space.paths.back());
        }
    }
}

// Children that are leaves, or too expensive by what is known of them, are not counted.
template <class Count>
std::int64_t LastSplit<Count>::cost(Space& space, CandidateGroup<Count>& group, int rank, std::int64_t budget) const {
    const Node<Count>& node = group.node;
    const std::int32_t column = group.column(rank);
    if (!context_.data.groups.empty()) {
        const Split<Count> split_on =
            context_.nodes.split_on(node, column, space.counter, space.level(group.level).split);
        return ordered_costs(space, group.level, node, split_on, nullptr, budget).sum();
    }
    const bool remembers = space.last_bounds.is_used();
    const Fingerprint* paths = remembers ? space.paths.data() + 2 * static_cast<std::size_t>(rank) : nullptr;
    std::int64_t known[2] = {0, 0};  // of the false side and of the true one
    for (int side = 0; side < 2 && remembers; ++side) {
        known[side] = space.last_bounds.find(paths[side]);
    }
    if (known[0] + known[1] >= budget) {
        ++space.cache_hits;
        return known[0] + known[1];
    }
    const Split<Count> split_on(node, column);
    if (is_large(node) && !space.last.draws() && !space.last.is_ahead(column)) {
        space.last.count_ahead(node, group.next(rank, kBatch), space.counter);
    }
    ChildCosts costs;
    for (int i = 0; i < 2; ++i) {
        costs.leaf[i] = context_.costs.leaf(split_on.side(i).errors());
        costs.cost[i] = std::max(context_.costs.lowest(split_on.side(i).errors(), Count{0}),
                                 known[(i == 0) == split_on.small_side() ? 1 : 0]);
    }
    if (costs.are_leaves() || costs.sum() >= budget) {
        return costs.sum();
    }
    if (!space.last.is_ahead(column) || context_.limits.track_rows) {
        space.last.open(node, split_on);
    }
    const std::int64_t sum = space.last.draws() ? drawn_cost(space, group.level, costs, budget)
                                                : counted_cost(space, group, split_on, costs, budget);
    for (int i = 0; i < 2 && remembers; ++i) {
        space.last_bounds.store(paths[(i == 0) == split_on.small_side() ? 1 : 0], costs.cost[i]);
    }
    return sum;
}

// The fewest errors over all columns bound the children from below. Only if their sum is below the budget are the
// columns ranked.
template <class Count>
std::int64_t LastSplit<Count>::counted_cost(Space& space, CandidateGroup<Count>& group, const Split<Count>& split_on,
                                            ChildCosts& costs, std::int64_t budget) const {
    context_.count_nodes(space, 2);
    const Fewest<Count> fewest = space.last.count(group.node, split_on, space.counter);
    std::int64_t free[2];  // costs without a minimum of rows or weight per side: those that bound other splits
    bool exact[2];
    for (int i = 0; i < 2; ++i) {
        const std::int64_t best_split = context_.costs.two_leaves(fewest.of[i]);
        costs.cost[i] = std::min(costs.leaf[i], best_split);
        exact[i] = costs.leaf[i] <= best_split || context_.plan.all_columns(group.level + 1);
        free[i] = std::min(costs.leaf[i], context_.costs.two_leaves(fewest.free[i]));
    }
    if (group.learn({space.last.small_rows(), split_on.side(0).weight, {free[0], free[1]}}, budget)) {
        space.payoff.spend(group.bounds->cycles());
    }
    for (int i = 1; i >= 0 && costs.sum() < budget; --i) {
        if (!exact[i]) {
            const Count errors = space.last.best_of_k(group.node, split_on, i, context_.plan.k(group.level + 1),
                                                      fewest.of[i], space.ticker);
            costs.cost[i] = std::min(costs.leaf[i], context_.costs.two_leaves(errors));
        }
    }
    return costs.sum();
}

// The same for thresholds of ordered groups, most of which are looked at only while bounds leave the question open.
template <class Count>
auto LastSplit<Count>::ordered_costs(Space& space, int level, const Node<Count>& node, const Split<Count>& split_on,
                                     const Count* false_counts, std::int64_t budget) const -> ChildCosts {
    ChildCosts costs;
    for (int i = 0; i < 2; ++i) {
        costs.leaf[i] = context_.costs.leaf(split_on.side(i).errors());
        costs.cost[i] = context_.costs.lowest(split_on.side(i).errors(), Count{0});
    }
    if (costs.are_leaves() || costs.sum() >= budget) {
        return costs;
    }
    OrderedLast<Count>& last = space.ordered_last;
    const auto bound = [&](int i) { costs.cost[i] = std::min(costs.leaf[i], context_.costs.two_leaves(last.low(i))); };
    if (context_.plan.all_columns(level + 1)) {
        context_.count_nodes(space, 2);
        if (false_counts == nullptr) {
            space.last.open(node, split_on);
        }
        last.open(node, split_on, false_counts, space.counter);
        bound(0);
        bound(1);
        for (int i = 0; i < 2 && costs.sum() < budget; ++i) {
            last.list_blocks(i);
            bound(i);
        }
        while (costs.sum() < budget && (last.is_open(0) || last.is_open(1))) {
            const int i = last.is_open(1) ? 1 : 0;
            last.refine(i, space.ticker);
            bound(i);
        }
        return costs;
    }
    Node<Count>* child = space.level(level).child;
    context_.nodes.open_children(node, split_on, space.counter, child);
    bool is_solved[2];
    for (int i = 0; i < 2; ++i) {
        is_solved[i] = costs.cost[i] == costs.leaf[i];
        CacheEntry entry;
        if (!is_solved[i] && cache_ != nullptr && cache_->find(child[i].fingerprint, 1, entry)) {
            ++space.cache_hits;
            costs.cost[i] = std::max(costs.cost[i], entry.cost);
            is_solved[i] = entry.solved;
        }
    }
    if ((is_solved[0] && is_solved[1]) || costs.sum() >= budget) {
        return costs;
    }
    context_.count_nodes(space, 2);
    space.last.open(child[0].subset);
    last.open(node, split_on, nullptr, space.counter);
    const auto raise = [&](int i, Count errors) {
        costs.cost[i] = std::max(costs.cost[i], std::min(costs.leaf[i], context_.costs.two_leaves(errors)));
        is_solved[i] = is_solved[i] || costs.cost[i] == costs.leaf[i];
    };
    for (int i = 0; i < 2; ++i) {
        if (!is_solved[i]) {
            raise(i, last.low(i));
        }
    }
    for (int i = 1; i >= 0 && costs.sum() < budget; --i) {
        if (is_solved[i]) {
            continue;
        }
        const std::int64_t wanted = context_.costs.errors_of(budget - costs.cost[1 - i]);
        if (costs.leaf[i] >= budget - costs.cost[1 - i] && wanted < std::numeric_limits<Count>::max()) {
            raise(i, last.bound_of_k(i, context_.plan.k(level + 1), static_cast<Count>(wanted)));
            if (costs.sum() >= budget) {
                break;
            }
        }
        last.begin_k(i, context_.plan.k(level + 1), space.ticker);
        do {
            raise(i, last.low_of_k(i));
        } while (!is_solved[i] && costs.sum() < budget && last.look_closer(i, space.ticker));
        if (!is_solved[i] && costs.sum() < budget) {
            raise(i, last.best_of_k(i, space.ticker));
            is_solved[i] = true;
        }
        last.end_k(i);
    }
    for (int i = 0; i < 2 && cache_ != nullptr; ++i) {
        cache_->store(child[i].fingerprint, 1, {costs.cost[i], kLeaf, is_solved[i]});
    }
    return costs;
}

// The same where children draw features: one child after the other, the larger one first, since it has more of the
// cost.
template <class Count>
std::int64_t LastSplit<Count>::drawn_cost(Space& space, int level, ChildCosts& costs, std::int64_t budget) const {
    for (const int i : {1, 0}) {
        if (costs.cost[i] == costs.leaf[i]) {
            continue;
        }
        context_.count_nodes(space, 1);
        const Count fewest = space.last.count_drawn(i, space.counter);
        costs.cost[i] = std::min(costs.leaf[i], context_.costs.two_leaves(fewest));
        if (costs.cost[i] < costs.leaf[i] && costs.sum() < budget) {
            const Count errors = space.last.best_of_k_drawn(context_.plan.k(level + 1), fewest, space.ticker);
            costs.cost[i] = std::min(costs.leaf[i], context_.costs.two_leaves(errors));
        }
        if (costs.sum() >= budget) {
            break;
        }
    }
    return costs.sum();
}

template class LastSplit<std::int32_t>;
template class LastSplit<std::int64_t>;

}  // namespace topk
