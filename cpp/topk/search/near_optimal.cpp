// The n best trees of a node from the n best trees of the children of its candidates.
//
// A candidate's trees are pairs of one tree for each side, and the n best of them need only the n best of each side: if
// a tree is not among these, n pairs with better ones come before it. That also holds if trees with equal predictions
// count once, since predictions of the sides that differ make predictions of the node that differ. The ordinary search
// tells what a candidate costs at least; once a node has n trees, only what is cheaper than the last one matters.
#include "topk/search/near_optimal.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "topk/base/require.hpp"
#include "topk/search/node_search.hpp"
#include "topk/search/validate.hpp"

namespace topk {
namespace {

// Immutable, and shared by all trees that it is a part of.
struct Tree {
    std::shared_ptr<const TreeNode> here;  // the node as a leaf: its rows and what they weigh
    std::int32_t column = kLeaf;
    std::shared_ptr<const Tree> child[2] = {};  // false, true
};

// A tree in the list of a node.
struct Listed {
    std::int64_t cost;
    int rank;  // of the candidate that it splits the node on; -1: a leaf
    Key key;   // of its predictions
    std::shared_ptr<const Tree> tree;
};

using List = std::vector<Listed>;  // in the order of the trees

bool is_before(const Listed& a, const Listed& b) { return std::tie(a.cost, a.rank) < std::tie(b.cost, b.rank); }

struct NodeKey {
    Key subset;
    int height;
    friend bool operator==(const NodeKey&, const NodeKey&) = default;
};

// Keys are random already.
struct Hash {
    std::size_t operator()(const Key& key) const { return static_cast<std::size_t>(key.low); }
    std::size_t operator()(const NodeKey& key) const {
        return static_cast<std::size_t>(key.subset.low + static_cast<std::uint64_t>(key.height));
    }
};

// Times x^n in the field of 2^64 elements: polynomials over bits modulo x^64 + x^4 + x^3 + x + 1.
std::uint64_t times_power(std::uint64_t element, std::int32_t n) {
    for (std::int32_t i = 0; i < n; ++i) {
        element = (element << 1) ^ (element >> 63 != 0 ? 0x1BU : 0U);
    }
    return element;
}

// What identifies "class p for these rows". It is linear, so that the key of a tree is the sum (XOR) over its leaves
// and does not depend on how they divide the rows: two predictions share one with the probability of two random keys.
Key prediction_key(const Key& subset, std::int32_t predicted) {
    return {times_power(subset.low, predicted), times_power(subset.high, predicted)};
}

// value * factor, rounded down, or kInfinity; neither is negative.
std::int64_t floor_product(std::int64_t value, double factor) {
    constexpr int kBits = 53;
    int exponent = 0;
    auto digits = static_cast<std::uint64_t>(std::ldexp(std::frexp(factor, &exponent), kBits));
    std::int64_t product = 0;  // of the digits so far, lowest first; what is shifted out can not matter any more
    for (int i = exponent; i < kBits && (digits > 0 || product > 0); ++i) {
        product = (product + (digits % 2 == 1 ? value : 0)) / 2;
        digits /= 2;
    }
    for (int i = kBits; i < exponent && digits > 0; ++i) {
        digits = std::min(2 * digits, static_cast<std::uint64_t>(kInfinity));
    }
    if (digits > 0 && value > (kInfinity - product) / static_cast<std::int64_t>(digits)) {
        return kInfinity;
    }
    return product + value * static_cast<std::int64_t>(digits);
}

std::unique_ptr<TreeNode> unshared(const Tree& tree) {
    auto node = std::make_unique<TreeNode>();
    node->column = tree.column;
    node->n_rows = tree.here->n_rows;
    node->n_wrong = tree.here->n_wrong;
    node->class_weight = tree.here->class_weight;
    for (int side = 0; side < 2 && tree.column != kLeaf; ++side) {
        node->child[side] = unshared(*tree.child[side]);
    }
    return node;
}

template <class Count>
class Enumeration : private Search<Count> {
  public:
    Enumeration(const Data& data, const Options& options, const Kernels& kernels, std::int64_t total,
                const NearOptimalWishes& wishes)
        : Search<Count>(data, options, kernels, total), wishes_(wishes) {
        this->enumerates_ = true;
    }
    std::vector<Solution> run();

  private:
    using typename Search<Count>::Space;
    using SharedList = std::shared_ptr<const List>;

    struct SplitHere {
        std::shared_ptr<const TreeNode> here;
        std::int32_t column;
        int rank;
    };
    // A list that has all trees up to a cost, or the first n of them.
    struct Known {
        SharedList list;
        std::int64_t limit;
    };

    std::vector<Solution> finish_all(const TreeNode& best, Space& space, bool complete);
    void list_trees(Space& space, int level, const Node<Count>& node, std::int64_t limit, List& list);
    std::vector<int> order_to_try(Space& space, int level, const Node<Count>& node, std::int64_t limit);
    std::int64_t limit_of_rank(const List& list, int rank, std::int64_t limit) const;
    std::int64_t lowest_of_split(Space& space, int level, const Node<Count>& node, std::int32_t column,
                                 std::int64_t limit);
    std::int64_t lowest_of_node(Space& space, int level, const Node<Count>& node, std::int64_t limit);
    SharedList known_trees(Space& space, int level, const Node<Count>& node, std::int64_t limit);
    void remember(const NodeKey& key, const Known& known);
    List split_trees(Space& space, int level, const Node<Count>& node, const SplitHere& split_here, std::int64_t limit);
    List pairs(Space& space, const SharedList side[2], const SplitHere& split_here, std::int64_t limit) const;
    void merge(List& list, List&& more) const;

    const NearOptimalWishes& wishes_;
    List root_list_;
    std::unordered_map<NodeKey, Known, Hash> known_;
    std::size_t known_bytes_ = 0;
};

// First the ordinary search, which says what the limit is and fills the cache, then the lists.
template <class Count>
std::vector<Solution> Enumeration<Count>::run() {
    const std::unique_ptr<Space> space = this->make_space();
    std::unique_ptr<TreeNode> best;
    bool complete = true;
    try {
        this->find_best(*space, best);
        const std::int64_t limit = cost_limit(best->cost, this->options_.cost_scale, wishes_);
        list_trees(*space, 0, this->root_, limit, root_list_);
    } catch (const Stopped&) {
        this->monitor_.rethrow();
        complete = false;
    }
    return finish_all(*best, *space, complete);
}

// The best candidate of the root is tried first: as soon as there are trees below it, the best of all is among them.
template <class Count>
std::vector<Solution> Enumeration<Count>::finish_all(const TreeNode& best, Space& space, bool complete) {
    this->last_choices_ = {};
    std::vector<Solution> solutions = {this->finish(best, space, complete)};
    if (root_list_.empty() || root_list_[0].cost > best.cost) {
        return solutions;
    }
    const Statistics statistics = solutions[0].statistics;
    solutions.clear();
    for (const Listed& listed : root_list_) {
        Solution& solution = solutions.emplace_back(flatten(*unshared(*listed.tree)));
        solution.cost = listed.cost;
        solution.complete = complete;
        solution.statistics = statistics;
    }
    return solutions;
}

// The trees of a node that cost at most `limit`: the first n of them, in order. `list` is empty before.
template <class Count>
void Enumeration<Count>::list_trees(Space& space, int level, const Node<Count>& node, std::int64_t limit, List& list) {
    const std::shared_ptr<const TreeNode> here = this->leaf_node(space, node);
    if (here->cost <= limit) {
        const auto heaviest = std::max_element(here->class_weight.begin(), here->class_weight.end());
        const auto predicted = static_cast<std::int32_t>(heaviest - here->class_weight.begin());
        list.push_back({here->cost, -1, prediction_key(node.key, predicted), std::make_shared<Tree>(Tree{here})});
    }
    if (this->height(level) == 0 || node.counts.totals.size() < 2) {
        return;
    }
    for (const int rank : order_to_try(space, level, node, limit)) {
        const Level<Count>& buffers = space.levels[static_cast<std::size_t>(level)];
        const SplitHere split_here = {here, buffers.candidates[static_cast<std::size_t>(rank)], rank};
        const std::int64_t most = limit_of_rank(list, rank, limit);
        if (lowest_of_split(space, level, node, split_here.column, most) > most) {
            ++space.pruned;
        } else {
            merge(list, split_trees(space, level, node, split_here, most));
        }
    }
}

// Ranks of the candidates. That of the best tree comes first: with its trees in the list, few others are cheap enough.
template <class Count>
std::vector<int> Enumeration<Count>::order_to_try(Space& space, int level, const Node<Count>& node,
                                                  std::int64_t limit) {
    const bool by_counts = this->height(level) == 1;
    const std::int32_t best = by_counts ? kLeaf : this->best_column(space, level, node, limit + 1);
    this->count_nodes(space, 1);
    this->rank_candidates(space, level, node);
    const std::vector<std::int32_t>& candidates = space.levels[static_cast<std::size_t>(level)].candidates;
    std::vector<int> ranks(candidates.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    const auto is_best = [&](int rank) { return candidates[static_cast<std::size_t>(rank)] == best; };
    std::stable_partition(ranks.begin(), ranks.end(), is_best);
    return ranks;
}

// What a tree of this rank may cost to be in the list.
template <class Count>
std::int64_t Enumeration<Count>::limit_of_rank(const List& list, int rank, std::int64_t limit) const {
    if (list.size() < wishes_.n) {
        return limit;
    }
    return std::min(limit, rank < list.back().rank ? list.back().cost : list.back().cost - 1);
}

// The cost of the best tree that splits the node on the column; a lower bound if it is above the limit.
template <class Count>
std::int64_t Enumeration<Count>::lowest_of_split(Space& space, int level, const Node<Count>& node, std::int32_t column,
                                                 std::int64_t limit) {
    if (this->height(level) == 1) {
        const Split<Count> split_on(node.counts, column);
        return this->leaf_cost(split_on.side[0].errors()) + this->leaf_cost(split_on.side[1].errors());
    }
    const std::vector<std::int32_t> only = {column};
    Family<Count> family{node, only, this->kernels_, nullptr, false};
    if (this->height(level) > 2) {
        return this->split_cost(space, level, family, 0, limit + 1);
    }
    space.last.begin(node);
    return this->split_cost_last(space, level, family, 0, limit + 1);
}

// The cost of the best tree of the node, which is known not to be above the limit.
template <class Count>
std::int64_t Enumeration<Count>::lowest_of_node(Space& space, int level, const Node<Count>& node, std::int64_t limit) {
    if (this->height(level) == 0 || node.counts.totals.size() < 2) {
        return this->leaf_cost(node.whole.errors());
    }
    if (this->height(level) == 1) {
        return this->solve_last(space, level, node).cost;
    }
    CacheEntry entry;
    if (this->cache_ && this->cache_->find(node.key, this->height(level), entry) && entry.solved) {
        return entry.cost;
    }
    return this->solve_node(space, level, node, limit + 1).cost;
}

// Trees that begin with a split: the best one costs no more than the limit.
template <class Count>
List Enumeration<Count>::split_trees(Space& space, int level, const Node<Count>& node, const SplitHere& split_here,
                                     std::int64_t limit) {
    const Split<Count> split_on(node.counts, split_here.column);
    Node<Count>* child = space.levels[static_cast<std::size_t>(level)].child;
    this->grow_children(space, level, node, split_on, child);
    const std::int64_t lowest[2] = {lowest_of_node(space, level + 1, child[0], limit),
                                    lowest_of_node(space, level + 1, child[1], limit)};
    SharedList side[2];  // false, true
    for (int i = 0; i < 2; ++i) {
        side[(i == 0) == split_on.small_side ? 1 : 0] = known_trees(space, level + 1, child[i], limit - lowest[1 - i]);
    }
    return pairs(space, side, split_here, limit);
}

template <class Count>
typename Enumeration<Count>::SharedList Enumeration<Count>::known_trees(Space& space, int level,
                                                                        const Node<Count>& node, std::int64_t limit) {
    const NodeKey key = {node.key, this->height(level)};
    if (const auto found = known_.find(key); found != known_.end() && found->second.limit >= limit) {
        return found->second.list;
    }
    const auto list = std::make_shared<List>();
    list_trees(space, level, node, limit, *list);
    if (this->cache_ && this->height(level) > 0) {
        remember(key, {list, list->size() == wishes_.n ? kInfinity : limit});
    }
    return list;
}

// Lists may take as much memory as the cache. When that is used up they are forgotten, which costs time only.
template <class Count>
void Enumeration<Count>::remember(const NodeKey& key, const Known& known) {
    // A tree is an entry, a node, and often two leaves that it shares with no other.
    const std::size_t leaf_bytes =
        sizeof(TreeNode) + static_cast<std::size_t>(this->data_.n_classes) * sizeof(std::int64_t);
    const std::size_t tree_bytes = sizeof(Listed) + 3 * sizeof(Tree) + 2 * leaf_bytes;
    known_bytes_ += sizeof(std::pair<NodeKey, Known>) + known.list->size() * tree_bytes;
    if (known_bytes_ > this->options_.cache_bytes) {
        known_.clear();
        known_bytes_ = 0;
    } else {
        known_.insert_or_assign(key, known);
    }
}

// The first n pairs of trees of the two sides that cost at most `limit`. In order: the next ones after the pair (i, j)
// are (i, j + 1) and, once for every i, (i + 1, 0), so those that may come next fit into a queue.
template <class Count>
List Enumeration<Count>::pairs(Space& space, const SharedList side[2], const SplitHere& split_here,
                               std::int64_t limit) const {
    using Pair = std::tuple<std::int64_t, std::size_t, std::size_t>;  // cost, places in the two lists
    constexpr std::size_t kWork = 64;                                 // in the units of Ticker::tick
    std::priority_queue<Pair, std::vector<Pair>, std::greater<>> next;
    const auto push = [&](std::size_t i, std::size_t j) {
        if (i < side[0]->size() && j < side[1]->size()) {
            next.emplace((*side[0])[i].cost + (*side[1])[j].cost, i, j);
        }
    };
    List list;
    push(0, 0);
    while (!next.empty() && list.size() < wishes_.n && std::get<0>(next.top()) <= limit) {
        const auto [cost, i, j] = next.top();
        next.pop();
        push(i, j + 1);
        if (j == 0) {
            push(i + 1, 0);
        }
        const Listed& a = (*side[0])[i];
        const Listed& b = (*side[1])[j];
        Tree tree = {split_here.here, split_here.column, {a.tree, b.tree}};
        list.push_back({cost, split_here.rank, a.key ^ b.key, std::make_shared<Tree>(std::move(tree))});
        space.ticker.tick(kWork);
    }
    return list;
}

// The first n trees of two lists.
template <class Count>
void Enumeration<Count>::merge(List& list, List&& more) const {
    List both;
    both.reserve(list.size() + more.size());
    std::merge(std::make_move_iterator(list.begin()), std::make_move_iterator(list.end()),
               std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()), std::back_inserter(both),
               is_before);
    list.clear();
    std::unordered_set<Key, Hash> seen;
    for (Listed& listed : both) {
        if (list.size() < wishes_.n && (!wishes_.distinct_predictions || seen.insert(listed.key).second)) {
            list.push_back(std::move(listed));
        }
    }
}

}  // namespace

std::int64_t cost_limit(std::int64_t best, std::int64_t cost_scale, const NearOptimalWishes& wishes) {
    const std::int64_t unit = wishes.errors_only ? cost_scale : 1;
    const std::int64_t whole = best / unit + floor_product(best / unit, wishes.epsilon);
    return whole >= kInfinity / unit ? kInfinity : whole * unit + unit - 1;
}

std::vector<Solution> near_optimal(const Data& data, const Options& options, const NearOptimalWishes& wishes) {
    require(wishes.n >= 1, "n must be at least 1");
    require(std::isfinite(wishes.epsilon) && wishes.epsilon >= 0, "epsilon must be a finite number >= 0");
    const std::int64_t total = validate(data, options);
    const Kernels& kernels = find_kernels(options.kernel);
    if (total < INT32_MAX) {
        return Enumeration<std::int32_t>(data, options, kernels, total, wishes).run();
    }
    return Enumeration<std::int64_t>(data, options, kernels, total, wishes).run();
}

}  // namespace topk
