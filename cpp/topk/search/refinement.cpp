// The local search, its choices, and what they cost.
#include "topk/search/refinement.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace topk {
void add_up(TreeNode& tree) {
    if (tree.column != kLeaf) {
        add_up(*tree.child[0]);
        add_up(*tree.child[1]);
        tree.cost = tree.child[0]->cost + tree.child[1]->cost;
    }
}

// What is known of the rows of a part while columns are compared.
template <class Count>
struct Refinement<Count>::Sweep {
    std::vector<std::size_t> place;   // per class: its index among those of the node
    std::vector<std::int64_t> delta;  // per row: how much more weight is wrong on the false side than on the true one
    std::int64_t all_true = 0;        // the weight that is wrong if all rows go to the true side
    NodeTerms terms;
    std::vector<std::uint64_t> order;  // buffer: rank and index of a row
    std::vector<std::int64_t> left;    // buffer: weights per class
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
bool Refinement<Count>::is_true(std::uint32_t row, std::int32_t column) const {
    const ColumnPlace place = context_.nodes.columns().place(column);
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
bool Refinement<Count>::is_wrong(std::uint32_t row, const TreeNode& tree) const {
    const TreeNode* node = &tree;
    while (node->column != kLeaf) {
        node = node->child[is_true(row, node->column) ? 1 : 0].get();
    }
    const auto heaviest = std::max_element(node->class_weight.begin(), node->class_weight.end());
    return node->class_index[static_cast<std::size_t>(heaviest - node->class_weight.begin())] !=
           context_.data.classes[row];
}

template <class Count>
std::int64_t Refinement<Count>::weight(std::uint32_t row) const {
    const std::int64_t own = context_.data.row_weight.empty() ? 1 : context_.data.row_weight[row];
    return own * context_.data.class_weight[static_cast<std::size_t>(context_.data.classes[row])];
}

template <class Count>
std::vector<std::uint32_t> Refinement<Count>::side(const Part& part, std::int32_t column, bool value) const {
    std::vector<std::uint32_t> rows;
    std::copy_if(part.rows.begin(), part.rows.end(), std::back_inserter(rows),
                 [&](std::uint32_t row) { return is_true(row, column) == value; });
    return rows;
}

template <class Count>
bool Refinement<Count>::is_admissible(const Part& part, std::int32_t column) const {
    std::int64_t n_rows[2] = {0, 0};
    std::int64_t weights[2] = {0, 0};
    for (const std::uint32_t row : part.rows) {
        const std::size_t here = is_true(row, column) ? 1 : 0;
        ++n_rows[here];
        weights[here] += weight(row);
    }
    return std::min(n_rows[0], n_rows[1]) >= context_.options.objective.min_rows &&
           std::min(weights[0], weights[1]) >= context_.options.objective.min_weight;
}

template <class Count>
void Refinement<Count>::improve(Space& space, int level, const Part& part, std::unique_ptr<TreeNode>& tree) {
    while (true) {
        const std::int64_t before = tree->cost;
        try_scores(space, level, part, tree);
        do {
            improve_children(space, level, part, *tree);
        } while (try_routes(space, level, part, tree));
        if (tree->cost == before) {
            return;
        }
    }
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
        const bool value = split_on.small_side() == (i == 0);
        std::unique_ptr<TreeNode>& below = tree.child[value ? 1 : 0];
        if (nodes_.must_be_leaf(level + 1, child[i])) {
            continue;
        }
        if (is_bottom(level + 1)) {
            if (nodes_.find_or_solve(space, level + 1, child[i], below->cost).cost < below->cost) {
                below = reader_.read_tree(space, level + 1, child[i], below->cost);
            }
        } else {
            const Node<Count>& dense = nodes_.with_all_rows(space, level + 1, child[i]);
            improve(space, level + 1, {&dense, side(part, tree.column, value)}, below);
        }
    }
    tree.cost = tree.child[0]->cost + tree.child[1]->cost;
}

// Try the best threshold of every feature, with new subtrees.
template <class Count>
bool Refinement<Count>::try_scores(Space& space, int level, const Part& part, std::unique_ptr<TreeNode>& tree) {
    bool is_better = false;
    for (const auto& [score, column] : choices(space, part, *tree).by_score) {
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
        is_better = true;
    }
    return is_better;
}

// Try the threshold of every feature that suits the subtrees.
template <class Count>
bool Refinement<Count>::try_routes(Space& space, int level, const Part& part, std::unique_ptr<TreeNode>& tree) {
    if (tree->column == kLeaf) {
        return false;
    }
    const TreeNode* const like[2] = {tree->child[0].get(), tree->child[1].get()};
    for (const auto& [cost, column] : choices(space, part, *tree).by_route) {
        if (auto better = split_like(space, level, part, column, like, tree->cost)) {
            tree = std::move(better);
            return true;
        }
    }
    return false;
}

template <class Count>
auto Refinement<Count>::choices(Space& space, const Part& part, const TreeNode& tree) const -> Choices {
    const Counts<Count>& counts = part.node->counts;
    Sweep sweep;
    if (!context_.data.groups.empty()) {
        sweep.terms = context_.scorer.node_terms(counts);
    }
    sweep.place.resize(context_.n_classes());
    for (std::size_t c = 0; c < counts.class_index.size(); ++c) {
        sweep.place[static_cast<std::size_t>(counts.class_index[c])] = c;
    }
    space.ticker.tick(part.rows.size() * (context_.data.groups.size() + 1) * 16);
    for (const std::uint32_t row : part.rows) {
        const bool is_split = tree.column != kLeaf;
        const std::int64_t if_false = is_split && is_wrong(row, *tree.child[0]) ? weight(row) : 0;
        const std::int64_t if_true = is_split && is_wrong(row, *tree.child[1]) ? weight(row) : 0;
        sweep.delta.push_back(if_false - if_true);
        sweep.all_true += if_true;
    }
    Choices choices;
    for (std::size_t g = 0; g < context_.data.groups.size(); ++g) {
        sweep_group(part, g, sweep, choices);
    }
    if (context_.data.n_columns > 0) {
        sweep_bits(space, part, sweep, choices);
    }
    for (auto* list : {&choices.by_score, &choices.by_route}) {
        std::sort(list->begin(), list->end());
        list->resize(std::min(list->size(), n_tries_));
    }
    return choices;
}

template <class Count>
void Refinement<Count>::sweep_group(const Part& part, std::size_t g, Sweep& sweep, Choices& choices) const {
    const OrderedGroup& group = context_.data.groups[g];
    const Objective& objective = context_.options.objective;
    const ColumnMap& columns = context_.nodes.columns();
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
    using Choice = std::pair<std::int64_t, std::int32_t>;
    const Choice none = {std::numeric_limits<std::int64_t>::max(), kLeaf};
    std::vector<Choice> best_score(n_stretches, none), best_route(n_stretches, none);
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
            wrong += sweep.delta[index];
            ++n_left;
        };
        const auto offer = [&](std::size_t threshold) {
            if (std::min(n_left, static_cast<std::int64_t>(n) - n_left) < objective.min_rows ||
                std::min(left, sweep.terms.total - left) < objective.min_weight) {
                return;
            }
            const std::int32_t column = columns.of_threshold(g, threshold, reading);
            const std::size_t i = static_cast<std::size_t>(n_left) * n_stretches / n;
            best_score[i] =
                std::min(best_score[i], {-context_.scorer.split_score(sweep.terms, sweep.left.data()), column});
            best_route[i] = std::min(best_route[i], {wrong, column});
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
    for (std::size_t i = 0; i < n_stretches; ++i) {
        if (best_score[i].second != kLeaf) {
            choices.by_score.push_back(best_score[i]);
            choices.by_route.push_back(best_route[i]);
        }
    }
}

template <class Count>
void Refinement<Count>::sweep_bits(Space& space, const Part& part, const Sweep& sweep, Choices& choices) const {
    const BitMatrix& matrix = *part.node->matrix;
    ScoreKey* keys = space.keys.ensure(matrix.n_columns);
    context_.scorer.all_keys(part.node->counts, matrix.n_columns, keys);
    std::vector<std::int64_t> true_delta(64 * source_.words_per_row(), 0);  // per stored column
    std::vector<std::uint64_t> words(source_.words_per_row());
    std::int64_t all_false = sweep.all_true;
    for (std::size_t i = 0; i < part.rows.size(); ++i) {
        all_false += sweep.delta[i];
        if (sweep.delta[i] == 0) {
            continue;
        }
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
            const std::int32_t column = context_.nodes.columns().of_bits(index);
            choices.by_score.push_back({-score_of(keys[j]), column});
            choices.by_route.push_back({all_false - true_delta[source_.position(index)], column});
        }
    }
}

template <class Count>
std::unique_ptr<TreeNode> Refinement<Count>::rerouted(Space& space, int level, const Node<Count>& node,
                                                      std::vector<std::uint32_t> rows, const TreeNode& like,
                                                      std::int64_t budget) {
    auto leaf = nodes_.leaf(space, node);
    if (nodes_.must_be_leaf(level, node) || (like.column == kLeaf && !is_bottom(level))) {
        return leaf->cost < budget ? std::move(leaf) : nullptr;
    }
    if (is_bottom(level)) {
        const bool is_better = nodes_.find_or_solve(space, level, node, budget).cost < budget;
        return is_better ? reader_.read_tree(space, level, node, budget) : nullptr;
    }
    const Part part = {&node, std::move(rows)};
    if (!is_admissible(part, like.column)) {  // nearly all rows go to one side
        const auto n_true = static_cast<std::size_t>(std::count_if(
            part.rows.begin(), part.rows.end(), [&](std::uint32_t row) { return is_true(row, like.column); }));
        const std::size_t larger = 2 * n_true > part.rows.size() ? 1 : 0;
        return rerouted(space, level, node, part.rows, *like.child[larger], budget);
    }
    const TreeNode* const below[2] = {like.child[0].get(), like.child[1].get()};
    auto tree = split_like(space, level, part, like.column, below, std::min(budget, leaf->cost));
    return tree || leaf->cost >= budget ? std::move(tree) : std::move(leaf);
}

template <class Count>
std::unique_ptr<TreeNode> Refinement<Count>::split_like(Space& space, int level, const Part& part, std::int32_t column,
                                                        const TreeNode* const like[2], std::int64_t budget) {
    const Split<Count> split_on = context_.nodes.split_on(*part.node, column, space.counter, space.level(level).split);
    Node<Count> child[2];
    nodes_.grow_children(space, level, *part.node, split_on, child);
    std::unique_ptr<TreeNode> below[2];
    for (const int i : {1, 0}) {
        const bool value = split_on.small_side() == (i == 0);
        std::vector<std::uint32_t> rows;
        if (!is_bottom(level + 1)) {
            rows = side(part, column, value);
        }
        below[i] = rerouted(space, level + 1, child[i], std::move(rows), *like[value ? 1 : 0], budget);
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
