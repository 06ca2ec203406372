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
#include "topk/search/tree_reader.hpp"

namespace topk {

template <class Count>
class TreeSearch {
  public:
    using Space = Workspace<Count>;

    // `nodes` outlives this object.
    explicit TreeSearch(NodeSearch<Count>& nodes) : nodes_(nodes), context_(nodes.context()), reader_(nodes) {}

    // Find the best tree. Throws what the callbacks throw; a time limit ends it with the best tree so far.
    Solution run();

    // Build the root and run all passes. `best` always holds the tree of the last pass that ran to completion, also
    // when Stopped is thrown; the greedy pass, which comes first, is not subject to the time limit.
    void find_best(Space& space, std::unique_ptr<TreeNode>& best);
    Statistics statistics(const Space& space) const;

  private:
    Solution finish(const TreeNode& tree, const Space& space, bool complete) const;
    // Are there passes for a smaller k?
    bool is_watched() const { return context_.options.tuning.time_limit > 0 || context_.options.callbacks.on_tree; }
    std::int64_t known_budget() const;
    std::unique_ptr<TreeNode> run_pass(Space& space, std::int32_t k, std::int64_t budget);
    std::vector<std::int32_t> widths() const;
    void start_clock();
    void refine_result(Space& space, std::unique_ptr<TreeNode>& best);
    void refine_before_last_pass(Space& space, std::unique_ptr<TreeNode>& best);
    std::unique_ptr<TreeNode> search(Space& space, std::int64_t budget);
    void report_tree(const TreeNode& tree, const Space& space);
    void report_better(const TreeNode& tree, const Space& space);
    void take_unfinished(Space& space, std::unique_ptr<TreeNode>& best);

    NodeSearch<Count>& nodes_;
    SearchContext<Count>& context_;
    TreeReader<Count> reader_;
    std::int32_t k_reached_ = 0;  // the widest k of a pass that ran to completion
    std::vector<Step> trace_;
};

extern template class TreeSearch<std::int32_t>;
extern template class TreeSearch<std::int64_t>;

}  // namespace topk
