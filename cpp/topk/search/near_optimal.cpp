// The n best trees of a node from the n best trees of the children of its candidates.
//
// A candidate's trees are pairs of one tree per side, and the n best pairs need only the n best trees of each side: if
// a tree is not among these, n pairs with better trees come before every pair that contains it. This also holds if
// trees with equal predictions count once, since different predictions on a side are different predictions on the node.
// The search of a node gives the lowest cost of a candidate; once a node has n trees, only trees that are cheaper than
// the last of them matter.
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
#include "topk/base/validate.hpp"
#include "topk/search/node_search.hpp"
#include "topk/search/tree_search.hpp"

namespace topk {
namespace {

// A tree or subtree: immutable, and shared by all trees that it is a part of.
struct Tree {
    std::shared_ptr<const TreeNode> here;  // the node as a leaf: its rows and their weights
    std::int32_t column = kLeaf;
    std::shared_ptr<const Tree> child[2] = {};  // false, true
};

// A tree in the list of a node.
struct Listed {
    std::int64_t cost;
    int rank;                 // of the candidate that the tree splits the node on; -1: a leaf
    Fingerprint predictions;  // identifies what it predicts for the node's rows
    std::shared_ptr<const Tree> tree;
};

using List = std::vector<Listed>;  // in the order of near_optimal.hpp

bool is_before(const Listed& a, const Listed& b) { return std::tie(a.cost, a.rank) < std::tie(b.cost, b.rank); }

struct SubsetAndHeight {
    Fingerprint subset;
    int height;
    friend bool operator==(const SubsetAndHeight&, const SubsetAndHeight&) = default;
};

// Fingerprints are random already.
struct Hash {
    std::size_t operator()(const Fingerprint& fingerprint) const { return static_cast<std::size_t>(fingerprint.low); }
    std::size_t operator()(const SubsetAndHeight& id) const {
        return static_cast<std::size_t>(id.subset.low + static_cast<std::uint64_t>(id.height));
    }
};

// Multiply by x^n in the field of 2^64 elements: polynomials over bits modulo x^64 + x^4 + x^3 + x + 1.
std::uint64_t times_power(std::uint64_t element, std::int32_t n) {
    for (std::int32_t i = 0; i < n; ++i) {
        element = (element << 1) ^ (element >> 63 != 0 ? 0x1BU : 0U);
    }
    return element;
}

// Return what identifies "class p for these rows". It is linear in the subset, so that the XOR over the leaves of a
// tree does not depend on how they divide the rows: different predictions share a fingerprint with probability 2^-128.
Fingerprint prediction_fingerprint(const Fingerprint& subset, std::int32_t predicted) {
    return {times_power(subset.low, predicted), times_power(subset.high, predicted)};
}

// Return value * factor, rounded down exactly, at most kInfinity. Precondition: neither is negative.
std::int64_t floor_product(std::int64_t value, double factor) {
    constexpr int kBits = 53;
    int exponent = 0;
    auto digits = static_cast<std::uint64_t>(std::ldexp(std::frexp(factor, &exponent), kBits));
    std::int64_t product = 0;  // of the digits so far, lowest first; what is shifted out no longer matters
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

// Copy a tree, without its cost, into nodes of its own.
std::unique_ptr<TreeNode> unshared(const Tree& tree) {
    auto node = std::make_unique<TreeNode>();
    node->column = tree.column;
    node->n_rows = tree.here->n_rows;
    node->n_wrong = tree.here->n_wrong;
    node->class_index = tree.here->class_index;
    node->class_weight = tree.here->class_weight;
    for (int side = 0; side < 2 && tree.column != kLeaf; ++side) {
        node->child[side] = unshared(*tree.child[side]);
    }
    return node;
}

template <class Count>
class Enumeration {
  public:
    Enumeration(const Data& data, const Options& options, const Kernels& kernels, std::int64_t total,
                const NearOptimalRequest& request)
        : nodes_(data, options, kernels, total, Purpose::enumeration),
          context_(nodes_.context()),
          search_(nodes_),
          request_(request) {}

    std::vector<Solution> run();

  private:
    using Space = Workspace<Count>;
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

    std::vector<Solution> finish(const TreeNode& best, const Space& space, bool complete) const;
    void list_trees(Space& space, int level, const Node<Count>& node, std::int64_t limit, List& list);
    std::vector<int> order_to_try(Space& space, int level, const Node<Count>& node, std::int64_t limit);
    std::int64_t limit_of_rank(const List& list, int rank, std::int64_t limit) const;
    std::int64_t lowest_cost(Space& space, int level, const Node<Count>& node, std::int64_t limit);
    SharedList known_trees(Space& space, int level, const Node<Count>& node, std::int64_t limit);
    void remember(const SubsetAndHeight& id, const Known& known);
    List split_trees(Space& space, int level, const Node<Count>& node, const SplitHere& split_here, std::int64_t limit);
    List pairs(Space& space, const SharedList side[2], const SplitHere& split_here, std::int64_t limit) const;
    void merge(List& list, List&& more) const;

    NodeSearch<Count> nodes_;
    SearchContext<Count>& context_;
    TreeSearch<Count> search_;
    const NearOptimalRequest& request_;
    List root_list_;
    std::unordered_map<SubsetAndHeight, Known, Hash> known_;
    std::size_t known_bytes_ = 0;
};

// The search for the best tree comes first: it gives the limit and fills the cache.
template <class Count>
std::vector<Solution> Enumeration<Count>::run() {
    const std::unique_ptr<Space> space = context_.make_space();
    std::unique_ptr<TreeNode> best;
    bool complete = true;
    try {
        search_.find_best(*space, best);
        const std::int64_t limit = cost_limit(best->cost, context_.options.objective.cost_scale, request_);
        list_trees(*space, 0, nodes_.root(), limit, root_list_);
    } catch (const Stopped&) {
        context_.monitor.rethrow();
        complete = false;
    }
    return finish(*best, *space, complete);
}

// The best candidate of the root is tried first: as soon as the list has trees below it, the best tree of all is one of
// them. Before that, the tree of the search is the only one known.
template <class Count>
std::vector<Solution> Enumeration<Count>::finish(const TreeNode& best, const Space& space, bool complete) const {
    std::vector<Solution> solutions;
    if (root_list_.empty() || root_list_[0].cost > best.cost) {
        solutions.push_back(flatten(best, context_.n_classes()));
    } else {
        for (const Listed& listed : root_list_) {
            solutions.push_back(flatten(*unshared(*listed.tree), context_.n_classes()));
            solutions.back().cost = listed.cost;
        }
    }
    Statistics statistics = search_.statistics(space);
    statistics.root = {};
    for (Solution& solution : solutions) {
        solution.complete = complete;
        solution.statistics = statistics;
    }
    return solutions;
}

// List the trees of a node that cost at most `limit`: the first n of them, in order. Precondition: `list` is empty.
template <class Count>
void Enumeration<Count>::list_trees(Space& space, int level, const Node<Count>& node, std::int64_t limit, List& list) {
    const std::shared_ptr<const TreeNode> here = nodes_.leaf(space, node);
    if (here->cost <= limit) {
        const auto heaviest = std::max_element(here->class_weight.begin(), here->class_weight.end());
        const std::int32_t predicted =
            here->class_index[static_cast<std::size_t>(heaviest - here->class_weight.begin())];
        list.push_back(
            {here->cost, -1, prediction_fingerprint(node.fingerprint, predicted), std::make_shared<Tree>(Tree{here})});
    }
    if (nodes_.must_be_leaf(level, node)) {
        return;
    }
    for (const int rank : order_to_try(space, level, node, limit)) {
        const std::int32_t column = space.level(level).candidates[static_cast<std::size_t>(rank)];
        const std::int64_t most = limit_of_rank(list, rank, limit);
        if (nodes_.split_cost(space, level, node, column, most + 1) > most) {
            ++space.pruned;
        } else {
            merge(list, split_trees(space, level, node, {here, column, rank}, most));
        }
    }
}

// Return the ranks of the candidates, that of the best tree first: with its trees in the list, few others are cheap
// enough.
template <class Count>
std::vector<int> Enumeration<Count>::order_to_try(Space& space, int level, const Node<Count>& node,
                                                  std::int64_t limit) {
    const bool by_counts = context_.plan.height(level) == 1;
    const std::int32_t best = by_counts ? kLeaf : nodes_.find_or_solve(space, level, node, limit + 1).column;
    context_.count_nodes(space, 1);
    nodes_.rank_candidates(space, level, node);
    const std::vector<std::int32_t>& candidates = space.level(level).candidates;
    std::vector<int> ranks(candidates.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    const auto is_best = [&](int rank) { return candidates[static_cast<std::size_t>(rank)] == best; };
    std::stable_partition(ranks.begin(), ranks.end(), is_best);
    return ranks;
}

// Return the highest cost with which a tree of this rank would be in the list.
template <class Count>
std::int64_t Enumeration<Count>::limit_of_rank(const List& list, int rank, std::int64_t limit) const {
    if (list.size() < request_.n) {
        return limit;
    }
    return std::min(limit, rank < list.back().rank ? list.back().cost : list.back().cost - 1);
}

// Return the cost of the best tree of the node. Precondition: it is not above the limit.
template <class Count>
std::int64_t Enumeration<Count>::lowest_cost(Space& space, int level, const Node<Count>& node, std::int64_t limit) {
    return nodes_.must_be_leaf(level, node) ? context_.costs.leaf(node.whole.errors())
                                            : nodes_.find_or_solve(space, level, node, limit + 1).cost;
}

// Return the trees that begin with a split. Precondition: the best of them costs no more than the limit.
template <class Count>
List Enumeration<Count>::split_trees(Space& space, int level, const Node<Count>& node, const SplitHere& split_here,
                                     std::int64_t limit) {
    const Split<Count> split_on =
        context_.nodes.split_on(node, split_here.column, space.counter, space.level(level).split);
    Node<Count>* child = space.level(level).child;
    nodes_.grow_children(space, level, node, split_on, child);
    const std::int64_t lowest[2] = {lowest_cost(space, level + 1, child[0], limit),
                                    lowest_cost(space, level + 1, child[1], limit)};
    SharedList side[2];  // false, true
    for (int i = 0; i < 2; ++i) {
        side[(i == 0) == split_on.small_side() ? 1 : 0] =
            known_trees(space, level + 1, child[i], limit - lowest[1 - i]);
    }
    return pairs(space, side, split_here, limit);
}

template <class Count>
typename Enumeration<Count>::SharedList Enumeration<Count>::known_trees(Space& space, int level,
                                                                        const Node<Count>& node, std::int64_t limit) {
    const SubsetAndHeight id = {node.fingerprint, context_.plan.height(level)};
    if (const auto found = known_.find(id); found != known_.end() && found->second.limit >= limit) {
        return found->second.list;
    }
    const auto list = std::make_shared<List>();
    list_trees(space, level, node, limit, *list);
    if (nodes_.has_cache() && context_.plan.height(level) > 0) {
        remember(id, {list, list->size() == request_.n ? kInfinity : limit});
    }
    return list;
}

// Lists may take as much memory as the cache. When that is used up they are forgotten, which costs time only.
template <class Count>
void Enumeration<Count>::remember(const SubsetAndHeight& id, const Known& known) {
    // A tree is an entry, a node, and often two leaves that it shares with no other tree.
    const std::size_t leaf_bytes =
        sizeof(TreeNode) + context_.n_classes() * (sizeof(std::int64_t) + sizeof(std::int32_t));
    const std::size_t tree_bytes = sizeof(Listed) + 3 * sizeof(Tree) + 2 * leaf_bytes;
    known_bytes_ += sizeof(std::pair<SubsetAndHeight, Known>) + known.list->size() * tree_bytes;
    if (known_bytes_ > context_.options.tuning.cache_bytes) {
        known_.clear();
        known_bytes_ = 0;
    } else {
        known_.insert_or_assign(id, known);
    }
}

// Return the first n pairs of trees of the two sides that cost at most `limit`, in order. The pairs that may follow
// (i, j) are (i, j + 1) and, once for every i, (i + 1, 0), so a queue of those finds the next one.
template <class Count>
List Enumeration<Count>::pairs(Space& space, const SharedList side[2], const SplitHere& split_here,
                               std::int64_t limit) const {
    using Pair = std::tuple<std::int64_t, std::size_t, std::size_t>;  // cost, indices into the two lists
    constexpr std::size_t kWork = 64;                                 // in the units of Ticker::tick
    std::priority_queue<Pair, std::vector<Pair>, std::greater<>> next;
    const auto push = [&](std::size_t i, std::size_t j) {
        if (i < side[0]->size() && j < side[1]->size()) {
            next.emplace((*side[0])[i].cost + (*side[1])[j].cost, i, j);
        }
    };
    List list;
    push(0, 0);
    while (!next.empty() && list.size() < request_.n && std::get<0>(next.top()) <= limit) {
        const auto [cost, i, j] = next.top();
        next.pop();
        push(i, j + 1);
        if (j == 0) {
            push(i + 1, 0);
        }
        const Listed& a = (*side[0])[i];
        const Listed& b = (*side[1])[j];
        Tree tree = {split_here.here, split_here.column, {a.tree, b.tree}};
        list.push_back({cost, split_here.rank, a.predictions ^ b.predictions, std::make_shared<Tree>(std::move(tree))});
        space.ticker.tick(kWork);
    }
    return list;
}

// Keep the first n trees of two lists.
template <class Count>
void Enumeration<Count>::merge(List& list, List&& more) const {
    List both;
    both.reserve(list.size() + more.size());
    std::merge(std::make_move_iterator(list.begin()), std::make_move_iterator(list.end()),
               std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()), std::back_inserter(both),
               is_before);
    list.clear();
    std::unordered_set<Fingerprint, Hash> seen;
    for (Listed& listed : both) {
        if (list.size() < request_.n && (!request_.distinct_predictions || seen.insert(listed.predictions).second)) {
            list.push_back(std::move(listed));
        }
    }
}

}  // namespace

std::int64_t cost_limit(std::int64_t best, std::int64_t cost_scale, const NearOptimalRequest& request) {
    const std::int64_t unit = request.errors_only ? cost_scale : 1;
    const std::int64_t whole = best / unit + floor_product(best / unit, request.epsilon);
    return whole >= kInfinity / unit ? kInfinity : whole * unit + unit - 1;
}

std::vector<Solution> near_optimal(const Data& data, const Options& options, const NearOptimalRequest& request) {
    require(request.n >= 1, "n must be at least 1");
    require(std::isfinite(request.epsilon) && request.epsilon >= 0, "epsilon must be a finite number >= 0");
    const std::int64_t total = validate(data, options);
    const Kernels& kernels = find_kernels(options.tuning.kernel);
    if (total < INT32_MAX) {
        return Enumeration<std::int32_t>(data, options, kernels, total, request).run();
    }
    return Enumeration<std::int64_t>(data, options, kernels, total, request).run();
}

}  // namespace topk
