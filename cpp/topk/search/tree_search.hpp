// The search of a whole tree: passes that widen k, and the tree that follows from the results of the last one.
//
// With a time limit, or a caller who wants to see trees on the way, k = 1, 2, 4, ... come before the k asked for, so
// that there is always a complete tree to return. Otherwise there is one pass.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "topk/base/tree_node.hpp"
#include "topk/base/types.hpp"
#include "topk/search/node_search.hpp"

namespace topk {

template <class Count>
class TreeSearch {
  public:
    using Space = Workspace<Count>;

    // `nodes` outlives this object.
    explicit TreeSearch(NodeSearch<Count>& nodes) : nodes_(nodes), context_(nodes.context()) {}

    // Find the best tree. Throws what the callbacks throw; a time limit ends it with the best tree so far.
    Solution run();

    // Build the root and run all passes. `best` always holds the tree of the last pass that ran to completion, also
    // when Stopped is thrown; the greedy pass, which comes first, is not subject to the time limit.
    void find_best(Space& space, std::unique_ptr<TreeNode>& best);
    Statistics statistics(const Space& space) const;

  private:
    // One search of the whole tree; as LevelPlan::narrow_to(). With a tail, the trees of former passes need not be
    // among those that it searches, so that it may find none that is as good.
    struct Pass {
        std::int32_t k;
        int tail;
    };

    Solution finish(const TreeNode& tree, const Space& space, bool complete) const;
    std::int64_t known_budget() const;
    std::unique_ptr<TreeNode> run_pass(Space& space, Pass pass, std::int64_t budget);
    std::vector<Pass> passes() const;
    std::unique_ptr<TreeNode> search(Space& space, std::int64_t budget);
    void report_tree(const TreeNode& tree, const Space& space);
    std::int32_t best_column(Space& space, int level, const Node<Count>& node) const;
    std::unique_ptr<TreeNode> greedy_tree(Space& space, int level, const Node<Count>& node);
    std::unique_ptr<TreeNode> read_tree(Space& space, int level, const Node<Count>& node, std::int64_t budget);
    void take_unfinished(Space& space, std::unique_ptr<TreeNode>& best);
    std::unique_ptr<TreeNode> known_tree(Space& space, int level, const Node<Count>& node, std::int32_t column);

    NodeSearch<Count>& nodes_;
    SearchContext<Count>& context_;
    std::int32_t k_reached_ = 0;  // the widest k of a pass that ran to completion
    std::vector<Step> trace_;
};

extern template class TreeSearch<std::int32_t>;
extern template class TreeSearch<std::int64_t>;

}  // namespace topk
