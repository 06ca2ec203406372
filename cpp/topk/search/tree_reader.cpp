// From the root down: the column of each node, its children, and their trees.
#include "topk/search/tree_reader.hpp"

#include <algorithm>
#include <utility>

namespace topk {

// With one candidate per node there is nothing to search: split while possible, then keep the splits that pay.
template <class Count>
std::unique_ptr<TreeNode> TreeReader<Count>::greedy_tree(Space& space, int level, const Node<Count>& node) {
    auto tree = nodes_.leaf(space, node);
    if (nodes_.must_be_leaf(level, node)) {
        return tree;
    }
    context_.count_nodes(space, 1);
    LevelBuffers<Count>& buffers = space.level(level);
    const std::int32_t column = context_.best_column(space, level, node);
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

// Columns come from the cache or are searched for again.
template <class Count>
std::unique_ptr<TreeNode> TreeReader<Count>::read_tree(Space& space, int level, const Node<Count>& node,
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

// Nodes that a bound has shown to be leaves are not in the cache; nodes that it has forgotten become leaves as well.
template <class Count>
std::unique_ptr<TreeNode> TreeReader<Count>::known_tree(Space& space, int level, const Node<Count>& node,
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

template class TreeReader<std::int32_t>;
template class TreeReader<std::int64_t>;

}  // namespace topk
