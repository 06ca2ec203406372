// Number the nodes of a tree.
#include "topk/base/tree_node.hpp"

namespace topk {
namespace {

std::int32_t append(const TreeNode& node, Solution& out) {
    const std::size_t index = out.column.size();
    out.column.push_back(node.column);
    out.false_child.push_back(-1);
    out.true_child.push_back(-1);
    out.n_rows.push_back(node.n_rows);
    out.class_weight.insert(out.class_weight.end(), node.class_weight.begin(), node.class_weight.end());
    if (node.column != kLeaf) {
        const std::int32_t false_child = append(*node.child[0], out);
        const std::int32_t true_child = append(*node.child[1], out);
        out.false_child[index] = false_child;
        out.true_child[index] = true_child;
    } else {
        out.n_wrong += node.n_wrong;
    }
    return static_cast<std::int32_t>(index);
}

}  // namespace

Solution flatten(const TreeNode& tree) {
    Solution solution;
    solution.cost = tree.cost;
    append(tree, solution);
    return solution;
}

}  // namespace topk
