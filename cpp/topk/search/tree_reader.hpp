// The trees that a search has found, from the root of a subset down.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "topk/base/tree_node.hpp"
#include "topk/search/node_search.hpp"

namespace topk {

// Make `tree` a split with these children.
template <class Count>
void join(TreeNode& tree, const Split<Count>& split_on, std::unique_ptr<TreeNode> small,
          std::unique_ptr<TreeNode> large) {
    tree.cost = small->cost + large->cost;
    tree.column = split_on.column();
    tree.child[split_on.small_side() ? 1 : 0] = std::move(small);
    tree.child[split_on.small_side() ? 0 : 1] = std::move(large);
}

template <class Count>
class TreeReader {
  public:
    using Space = Workspace<Count>;

    // `nodes` outlives this object.
    explicit TreeReader(NodeSearch<Count>& nodes) : nodes_(nodes), context_(nodes.context()) {}

    // Return the best tree of a node, or a leaf if no tree costs less than the budget.
    std::unique_ptr<TreeNode> read_tree(Space& space, int level, const Node<Count>& node, std::int64_t budget);
    // Return the tree of a node, given the column of its split or kLeaf, as far as the cache remembers it.
    std::unique_ptr<TreeNode> known_tree(Space& space, int level, const Node<Count>& node, std::int32_t column);
    // Return the best tree of a node if there is one candidate per node.
    std::unique_ptr<TreeNode> greedy_tree(Space& space, int level, const Node<Count>& node);

  private:
    NodeSearch<Count>& nodes_;
    SearchContext<Count>& context_;
};

extern template class TreeReader<std::int32_t>;
extern template class TreeReader<std::int64_t>;

}  // namespace topk
