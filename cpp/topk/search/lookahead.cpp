// List by score, complete each column by a greedy tree, choose the first k.
#include "topk/search/lookahead.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "topk/search/node_search.hpp"

namespace topk {
namespace {

// Tells greedy trees of a subset from its best trees in the cache.
constexpr Fingerprint kGreedy = {0x243f6a8885a308d3U, 0x13198a2e03707344U};

}  // namespace

// The columns that are complete, and the cost that the next one must not exceed to be among the first k. Ties keep the
// order of the ranks, so what is chosen does not depend on the order in which threads finish.
template <class Count>
class Lookahead<Count>::Cheapest {
  public:
    Cheapest(std::size_t k, bool shared) : k_(k), shared_(shared) {}

    std::int64_t budget(int rank) const {
        const auto guard = lock();
        return heap_.size() < k_ ? kInfinity : heap_.front().first + (rank < heap_.front().second ? 1 : 0);
    }
    // `has_place`: whether it takes a place that no other column has taken; if unsure, false.
    void offer(CostAndRank entry, bool has_place) {
        const auto guard = lock();
        entries_.push_back(entry);
        if (!has_place) {
            return;
        }
        heap_.push_back(entry);
        std::push_heap(heap_.begin(), heap_.end());
        if (heap_.size() > k_) {
            std::pop_heap(heap_.begin(), heap_.end());
            heap_.pop_back();
        }
    }
    // Return the columns that were offered, in order; the first k places are among them.
    const std::vector<CostAndRank>& sorted() {
        std::sort(entries_.begin(), entries_.end());
        return entries_;
    }

  private:
    std::unique_lock<std::mutex> lock() const {
        return shared_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
    }

    mutable std::mutex mutex_;
    const std::size_t k_;
    const bool shared_;
    std::vector<CostAndRank> heap_;  // the first k by cost and rank, the last of them in front
    std::vector<CostAndRank> entries_;
};

template <class Count>
Lookahead<Count>::Lookahead(NodeSearch<Count>& nodes, SubsetCache* cache)
    : nodes_(nodes), context_(nodes.context()), cache_(cache) {
    const std::vector<std::int32_t>& second = context_.options.objective.second_reading;
    first_reading_.resize(second.size());
    std::iota(first_reading_.begin(), first_reading_.end(), 0);
    for (std::size_t j = 0; j < second.size(); ++j) {
        if (second[j] > 0) {
            first_reading_[j + static_cast<std::size_t>(second[j])] = static_cast<std::int32_t>(j);
        }
    }
}

// Return the column that is the first reading of a column's test.
template <class Count>
std::int32_t Lookahead<Count>::test_of(std::int32_t column) const {
    const ColumnMap& columns = context_.nodes.columns();
    const ColumnPlace place = columns.place(column);
    if (place.group >= 0) {
        return place.reading == Reading::second
                   ? columns.of_threshold(static_cast<std::size_t>(place.group), place.index, Reading::first)
                   : column;
    }
    return first_reading_.empty() ? column : columns.of_bits(static_cast<std::size_t>(first_reading_[place.index]));
}

template <class Count>
std::int64_t Lookahead<Count>::rank(Space& space, int level, const Node<Count>& node) {
    context_.rank_candidates(space, level, node);
    LevelBuffers<Count>& buffers = space.level(level);
    std::swap(buffers.listed, buffers.candidates);
    const bool shared = nodes_.are_tasks(node, context_.plan.height(level) - 2);
    Cheapest cheapest(context_.plan.k(level), shared);
    const auto n_listed = static_cast<int>(buffers.listed.size());
    nodes_.for_tasks(space, nodes_.task_depth(level), shared, n_listed, [&](Space& own, int rank) {
        const std::int32_t column = buffers.listed[static_cast<std::size_t>(rank)];
        const std::int64_t budget = cheapest.budget(rank);
        const std::int64_t cost = split_cost(own, level, node, column, budget);
        if (cost < budget) {
            cheapest.offer({cost, rank}, test_of(column) == column);
        }
    });
    choose(buffers, cheapest.sorted(), level);
    return buffers.greedy_cost.empty() ? kInfinity : buffers.greedy_cost.front();
}

// A candidate takes as many places as columns of the list that it stands for; two readings of a test share theirs.
template <class Count>
void Lookahead<Count>::choose(LevelBuffers<Count>& buffers, const std::vector<CostAndRank>& sorted, int level) const {
    auto left = static_cast<std::int64_t>(context_.plan.listed(level));
    for (std::int64_t& n : buffers.n_alike) {
        n = std::min(n, left);
        left -= n;
    }
    buffers.candidates.clear();
    buffers.greedy_cost.clear();
    std::vector<std::int64_t> errors;
    std::unordered_set<std::int32_t> tests;
    std::size_t n_places = 0;
    for (const auto& [cost, rank] : sorted) {
        if (n_places >= context_.plan.k(level)) {
            break;
        }
        const auto i = static_cast<std::size_t>(rank);
        n_places += tests.insert(test_of(buffers.listed[i])).second ? static_cast<std::size_t>(buffers.n_alike[i]) : 0;
        buffers.candidates.push_back(buffers.listed[i]);
        buffers.greedy_cost.push_back(cost);
        if (!buffers.errors.empty()) {
            errors.push_back(buffers.errors[i]);
        }
    }
    std::swap(buffers.errors, errors);
}

template <class Count>
std::int64_t Lookahead<Count>::split_cost(Space& space, int level, const Node<Count>& node, std::int32_t column,
                                          std::int64_t budget) {
    const Split<Count> split_on = context_.nodes.split_on(node, column, space.counter, space.level(level).split);
    std::int64_t cost[2] = {0, 0};
    nodes_.child_costs(
        space, level, node, split_on, budget, kGreedy, cost,
        [&](const Node<Count>& child, std::int64_t most) { return tree_cost(space, level + 1, child, most); });
    return cost[0] + cost[1];
}

// Return the cost of the greedy tree of a node with at least two levels left.
template <class Count>
std::int64_t Lookahead<Count>::tree_cost(Space& space, int level, const Node<Count>& node, std::int64_t budget) {
    const std::int64_t leaf = context_.costs.leaf(node.whole.errors());
    if (nodes_.must_be_leaf(level, node)) {
        return leaf;
    }
    context_.count_nodes(space, 1);
    const std::int32_t column = context_.best_column(space, level, node);
    std::int64_t cost = leaf;
    if (column != kLeaf) {
        const std::int64_t most = std::min(budget, leaf);
        cost = context_.plan.height(level) == 2 ? nodes_.split_cost(space, level, node, column, most)
                                                : split_cost(space, level, node, column, most);
        cost = std::min(leaf, cost);
    }
    if (cache_ != nullptr) {
        cache_->store(node.fingerprint ^ kGreedy, context_.plan.height(level),
                      {cost, kLeaf, cost < budget || cost == leaf});
    }
    return cost;
}

template class Lookahead<std::int32_t>;
template class Lookahead<std::int64_t>;

}  // namespace topk
