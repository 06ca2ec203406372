// Number the nodes of a tree.
#include "topk/base/tree_node.hpp"

namespace topk {
namespace {

std::int32_t append(const TreeNode& node, std::size_t n_classes, Solution& out) {
    const std::size_t index = out.column.size();
    out.column.push_back(node.column);
    out.false_child.push_back(-1);
    out.true_child.push_back(-1);
    out.n_rows.push_back(node.n_rows);
    out.node_wrong.push_back(node.n_wrong);
    out.class_weight.resize((index + 1) * n_classes, 0);
    for (std::size_t c = 0; c < node.class_index.size(); ++c) {
        out.class_weight[index * n_classes + static_cast<std::size_t>(node.class_index[c])] = node.class_weight[c];
    }
    if (node.column != kLeaf) {
        const std::int32_t false_child = append(*node.child[0], n_classes, out);
        const std::int32_t true_child = append(*node.child[1], n_classes, out);
        out.false_child[index] = false_child;
        out.true_child[index] = true_child;
    } else {
        out.n_wrong += node.n_wrong;
    }
    return static_cast<std::int32_t>(index);
}

std::size_t count_nodes(const TreeNode& tree) {
    return tree.column == kLeaf ? 1 : 1 + count_nodes(*tree.child[0]) + count_nodes(*tree.child[1]);
}

}  // namespace

Solution flatten(const TreeNode& tree, std::size_t n_classes) {
    Solution solution;
    solution.cost = tree.cost;
    solution.class_weight.reserve(count_nodes(tree) * n_classes);  // with many classes, far the largest array
    append(tree, n_classes, solution);
    return solution;
}

}  // namespace topk
