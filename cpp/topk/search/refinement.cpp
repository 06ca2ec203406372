// The local search, its choices, and what they cost.
#include "topk/search/refinement.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace topk {
namespace {

// Set the cost of every split of the tree to that of its leaves.
void add_up(TreeNode& tree) {
    if (tree.column != kLeaf) {
        add_up(*tree.child[0]);
        add_up(*tree.child[1]);
        tree.cost = tree.child[0]->cost + tree.child[1]->cost;
    }
}

}  // namespace

// What is known of the rows of a part while columns are compared.
template <class Count>
struct Refinement<Count>::Sweep {
    // Of columns that are ranked by their scores.
    NodeTerms terms;
    std::vector<std::size_t> place;  // per class: its index among those of the node
    std::vector<std::int64_t> left;  // buffer: weights per class
    // Of columns that are ranked by what they send to the wrong side.
    std::vector<std::int64_t> delta;  // per row: how much more weight is wrong on the false side than on the true one
    std::int64_t all_true = 0;        // the weight that is wrong if all rows go to the true side

    std::vector<std::uint64_t> order;  // buffer: rank and index of a row
    bool by_score() const { return delta.empty(); }
};

template <class Count>
Refinement<Count>::Refinement(NodeSearch<Count>& nodes, TreeReader<Count>& reader, int bottom)
    : nodes_(nodes),
      reader_(reader),
      context_(nodes.context()),
      bottom_(bottom),
      source_(context_.data, context_.kernels) {}

template <class Count>
void Refinement<Count>::improve(Space& space, std::size_t n_tries, std::unique_ptr<TreeNode>& tree) {
    n_tries_ = n_tries;
    Part root = {&nodes_.root(), {}};
    for (std::size_t row = 0; row < context_.data.n_rows; ++row) {
        if (context_.data.row_weight.empty() || context_.data.row_weight[row] > 0) {
            root.rows.push_back(static_cast<std::uint32_t>(row));
        }
    }
    try {
        improve(space, 0, root, tree);
    } catch (const Stopped&) {
        add_up(*tree);
        throw;
    }
}

template <class Count>
bool Refinement<Count>::is_true(std::uint32_t row, const ColumnPlace& place) const {
    if (place.group < 0) {
        return source_.test(row, place.index);
    }
    const std::uint32_t rank = context_.data.groups[static_cast<std::size_t>(place.group)].ranks[row];
    if (rank == OrderedGroup::kMissing || place.reading == Reading::is_missing) {
        return rank == OrderedGroup::kMissing && place.reading != Reading::second;
    }
    return rank > place.index;
}

template <class Count>
std::int64_t Refinement<Count>::weight(std::uint32_t row) const {
    const std::int64_t own = context_.data.row_weight.empty() ? 1 : context_.data.row_weight[row];
    return own * context_.data.class_weight[static_cast<std::size_t>(context_.data.classes[row])];
}

template <class Count>
auto Refinement<Count>::divide(const Rows& rows, std::int32_t column) const -> Sides {
    const ColumnPlace place = context_.nodes.columns().place(column);
    Sides sides;
    for (const std::uint32_t row : rows) {
        sides[is_true(row, place) ? 1 : 0].push_back(row);
    }
    return sides;
}

template <class Count>
bool Refinement<Count>::is_admissible(const Sides& sides) const {
    const Objective& objective = context_.options.objective;
    return std::all_of(sides.begin(), sides.end(), [&](const Rows& rows) {
        std::int64_t weight_here = 0;
        for (const std::uint32_t row : rows) {
            weight_here += weight(row);
        }
        return static_cast<std::int64_t>(rows.size()) >= objective.min_rows && weight_here >= objective.min_weight;
    });
}

template <class Count>
void Refinement<Count>::improve(Space& space, int level, const Part& part, std::unique_ptr<TreeNode>& tree) {
    try_scores(space, level, part, tree);
    do {
        improve_children(space, level, part, *tree);
    } while (try_routes(space, level, part, tree));
}

template <class Count>
void Refinement<Count>::improve_children(Space& space, int level, const Part& part, TreeNode& tree) {
    if (tree.column == kLeaf) {
        return;
    }
    const Split<Count> split_on =
        context_.nodes.split_on(*part.node, tree.column, space.counter, space.level(level).split);
    Node<Count> child[2];
    nodes_.grow_children(space, level, *part.node, split_on, child);
    for (int i = 0; i < 2; ++i) {
        const std::size_t side = split_on.small_side() == (i == 0) ? 1 : 0;
        std::unique_ptr<TreeNode>& below = tree.child[side];
        if (nodes_.must_be_leaf(level + 1, child[i])) {
            continue;
        }
        if (is_bottom(level + 1)) {
            auto better = reader_.read_tree(space, level + 1, child[i], below->cost);
            if (better->cost < below->cost) {
                below = std::move(better);
            }
        } else {
            const Node<Count>& dense = nodes_.with_all_rows(space, level + 1, child[i]);
            improve(space, level + 1, {&dense, std::move(divide(part.rows, tree.column)[side])}, below);
        }
    }
    tree.cost = tree.child[0]->cost + tree.child[1]->cost;
}

// Try the thresholds with the best scores, with new subtrees.
template <class Count>
void Refinement<Count>::try_scores(Space& space, int level, const Part& part, std::unique_ptr<TreeNode>& tree) {
    for (const auto& [score, column] : choices(space, part, nullptr)) {
        if (nodes_.split_cost(space, level, *part.node, column, tree->cost) >= tree->cost) {
            continue;
        }
        const Split<Count> split_on =
            context_.nodes.split_on(*part.node, column, space.counter, space.level(level).split);
        Node<Count> child[2];
        nodes_.grow_children(space, level, *part.node, split_on, child);
        auto better = nodes_.leaf(space, *part.node);
        auto small = reader_.read_tree(space, level + 1, child[0], kInfinity);
        auto large = reader_.read_tree(space, level + 1, child[1], kInfinity);
        join(*better, split_on, std::move(small), std::move(large));
        tree = std::move(better);
    }
}

// Try the thresholds that suit the subtrees.
template <class Count>
bool Refinement<Count>::try_routes(Space& space, int level, const Part& part, std::unique_ptr<TreeNode>& tree) {
    if (tree->column == kLeaf) {
        return false;
    }
    const TreeNode* const like[2] = {tree->child[0].get(), tree->child[1].get()};
    for (const auto& [cost, column] : choices(space, part, tree.get())) {
        if (auto better = split_like(space, level, part, column, like, tree->cost)) {
            tree = std::move(better);
            return true;
        }
    }
    return false;
}

template <class Count>
auto Refinement<Count>::choices(Space& space, const Part& part, const TreeNode* tree) const -> std::vector<Choice> {
    const Counts<Count>& counts = part.node->counts;
    Sweep sweep;
    sweep.terms = context_.scorer.node_terms(counts);
    sweep.place.resize(context_.n_classes());
    for (std::size_t c = 0; c < counts.class_index.size(); ++c) {
        sweep.place[static_cast<std::size_t>(counts.class_index[c])] = c;
    }
    if (tree != nullptr) {
        std::vector<std::uint32_t> all(part.rows.size());
        std::iota(all.begin(), all.end(), 0);
        sweep.delta.resize(part.rows.size());
        sweep.all_true = add_wrong(part.rows, all, *tree->child[1], -1, sweep.delta);
        add_wrong(part.rows, all, *tree->child[0], 1, sweep.delta);
    }
    std::vector<Choice> choices;
    for (std::size_t g = 0; g < context_.data.groups.size(); ++g) {
        sweep_group(space, part, g, sweep, choices);
    }
    if (context_.data.n_columns > 0) {
        sweep_bits(space, part, sweep, choices);
    }
    std::sort(choices.begin(), choices.end());
    choices.resize(std::min(choices.size(), n_tries_));
    return choices;
}

template <class Count>
std::int64_t Refinement<Count>::add_wrong(const Rows& rows, const std::vector<std::uint32_t>& some,
                                          const TreeNode& tree, int sign, std::vector<std::int64_t>& sums) const {
    if (tree.column != kLeaf) {
        const ColumnPlace place = context_.nodes.columns().place(tree.column);
        std::vector<std::uint32_t> sides[2];
        for (const std::uint32_t i : some) {
            sides[is_true(rows[i], place) ? 1 : 0].push_back(i);
        }
        return add_wrong(rows, sides[0], *tree.child[0], sign, sums) +
               add_wrong(rows, sides[1], *tree.child[1], sign, sums);
    }
    const auto heaviest = std::max_element(tree.class_weight.begin(), tree.class_weight.end());
    const auto predicted = tree.class_index[static_cast<std::size_t>(heaviest - tree.class_weight.begin())];
    std::int64_t wrong = 0;
    for (const std::uint32_t i : some) {
        if (context_.data.classes[rows[i]] != predicted) {
            wrong += weight(rows[i]);
            sums[i] += sign * weight(rows[i]);
        }
    }
    return wrong;
}

// The best threshold of every stretch of the group's rows.
template <class Count>
void Refinement<Count>::sweep_group(Space& space, const Part& part, std::size_t g, Sweep& sweep,
                                    std::vector<Choice>& choices) const {
    const OrderedGroup& group = context_.data.groups[g];
    const Objective& objective = context_.options.objective;
    const ColumnMap& columns = context_.nodes.columns();
    space.ticker.tick(part.rows.size() * 16);
    sweep.order.clear();
    for (std::size_t i = 0; i < part.rows.size(); ++i) {
        sweep.order.push_back((std::uint64_t{group.ranks[part.rows[i]]} << 32) | i);
    }
    std::sort(sweep.order.begin(), sweep.order.end());
    const auto rank_at = [&](std::size_t i) { return static_cast<std::uint32_t>(sweep.order[i] >> 32); };
    const std::size_t n = sweep.order.size();
    std::size_t n_present = n;
    while (n_present > 0 && rank_at(n_present - 1) == OrderedGroup::kMissing) {
        --n_present;
    }
    const std::size_t n_stretches = std::max<std::size_t>(n_tries_ / context_.data.groups.size(), 1);
    std::vector<Choice> best(n_stretches, {std::numeric_limits<std::int64_t>::max(), kLeaf});
    for (const Reading reading : {Reading::first, Reading::second, Reading::is_missing}) {
        if (reading != Reading::first && n_present == n) {
            break;
        }
        sweep.left.assign(sweep.terms.totals.size(), 0);
        std::int64_t n_left = 0;
        std::int64_t left = 0;
        std::int64_t wrong = sweep.all_true;
        const auto add = [&](std::size_t i) {
            const auto index = static_cast<std::size_t>(sweep.order[i] & UINT32_MAX);
            const std::uint32_t row = part.rows[index];
            sweep.left[sweep.place[static_cast<std::size_t>(context_.data.classes[row])]] += weight(row);
            left += weight(row);
            wrong += sweep.by_score() ? 0 : sweep.delta[index];
            ++n_left;
        };
        const auto offer = [&](std::size_t threshold) {
            if (std::min(n_left, static_cast<std::int64_t>(n) - n_left) < objective.min_rows ||
                std::min(left, sweep.terms.total - left) < objective.min_weight) {
                return;
            }
            Choice& own = best[static_cast<std::size_t>(n_left) * n_stretches / n];
            const std::int64_t value =
                sweep.by_score() ? -context_.scorer.split_score(sweep.terms, sweep.left.data()) : wrong;
            own = std::min(own, {value, columns.of_threshold(g, threshold, reading)});
        };
        for (std::size_t i = n_present; i < n && reading == Reading::second; ++i) {
            add(i);
        }
        for (std::size_t i = 0; i < n_present; ++i) {
            if (i > 0 && rank_at(i) != rank_at(i - 1) && reading != Reading::is_missing) {
                offer(rank_at(i - 1));
            }
            add(i);
        }
        if (reading == Reading::is_missing) {
            offer(0);
        }
    }
    std::copy_if(best.begin(), best.end(), std::back_inserter(choices),
                 [](const Choice& choice) { return choice.second != kLeaf; });
}

template <class Count>
void Refinement<Count>::sweep_bits(Space& space, const Part& part, const Sweep& sweep,
                                   std::vector<Choice>& choices) const {
    const BitMatrix& matrix = *part.node->matrix;
    ScoreKey* keys = space.keys.ensure(matrix.n_columns);
    context_.scorer.all_keys(part.node->counts, matrix.n_columns, keys);
    std::vector<std::int64_t> true_delta(64 * source_.words_per_row(), 0);  // per stored column
    std::vector<std::uint64_t> words(source_.words_per_row());
    std::int64_t all_false = sweep.all_true;
    for (std::size_t i = 0; i < sweep.delta.size(); ++i) {
        all_false += sweep.delta[i];
        if (sweep.delta[i] == 0) {
            continue;
        }
        space.ticker.tick(64 * words.size());
        source_.read(part.rows[i], words.data());
        for (std::size_t w = 0; w < words.size(); ++w) {
            for (std::uint64_t rest = words[w]; rest != 0; rest &= rest - 1) {
                true_delta[64 * w + static_cast<std::size_t>(std::countr_zero(rest))] += sweep.delta[i];
            }
        }
    }
    for (std::size_t j = 0; j < matrix.n_bits; ++j) {
        if (keys[j] != kNoScoreKey) {
            const auto index = static_cast<std::size_t>(matrix.column_of(j));
            const std::int64_t value =
                sweep.by_score() ? -score_of(keys[j]) : all_false - true_delta[source_.position(index)];
            choices.push_back({value, context_.nodes.columns().of_bits(index)});
        }
    }
}

template <class Count>
std::unique_ptr<TreeNode> Refinement<Count>::rerouted(Space& space, int level, const Node<Count>& node, Rows rows,
                                                      const TreeNode& like, std::int64_t budget) {
    if (is_bottom(level)) {
        auto tree = reader_.read_tree(space, level, node, budget);
        return tree->cost < budget ? std::move(tree) : nullptr;
    }
    auto leaf = nodes_.leaf(space, node);
    if (nodes_.must_be_leaf(level, node) || like.column == kLeaf) {
        return leaf->cost < budget ? std::move(leaf) : nullptr;
    }
    const Sides sides = divide(rows, like.column);
    if (!is_admissible(sides)) {  // nearly all rows go to one side
        const std::size_t larger = sides[1].size() > sides[0].size() ? 1 : 0;
        return rerouted(space, level, node, std::move(rows), *like.child[larger], budget);
    }
    const TreeNode* const below[2] = {like.child[0].get(), like.child[1].get()};
    auto tree = split_like(space, level, {&node, std::move(rows)}, like.column, below, std::min(budget, leaf->cost));
    return tree || leaf->cost >= budget ? std::move(tree) : std::move(leaf);
}

template <class Count>
std::unique_ptr<TreeNode> Refinement<Count>::split_like(Space& space, int level, const Part& part, std::int32_t column,
                                                        const TreeNode* const like[2], std::int64_t budget) {
    const Split<Count> split_on = context_.nodes.split_on(*part.node, column, space.counter, space.level(level).split);
    Node<Count> child[2];
    nodes_.grow_children(space, level, *part.node, split_on, child);
    Sides sides = is_bottom(level + 1) ? Sides() : divide(part.rows, column);
    std::unique_ptr<TreeNode> below[2];
    for (const int i : {1, 0}) {
        const std::size_t side = split_on.small_side() == (i == 0) ? 1 : 0;
        below[i] = rerouted(space, level + 1, child[i], std::move(sides[side]), *like[side], budget);
        if (!below[i]) {
            return nullptr;
        }
        budget -= below[i]->cost;
    }
    auto tree = nodes_.leaf(space, *part.node);
    join(*tree, split_on, std::move(below[0]), std::move(below[1]));
    return tree;
}

template class Refinement<std::int32_t>;
template class Refinement<std::int64_t>;

}  // namespace topk
