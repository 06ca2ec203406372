// Lowers the cost of a finished tree: a local search over its splits.
//
// The bottom subtrees, those of a given height, become the best of all their columns allow. Above them, one split after
// the other is tried with every feature: once with the threshold that scores best, with new subtrees below it, and once
// with the threshold that suits the subtrees that are there: it sends the most rows to the side that gets them right.
// What costs less is kept, until nothing does. The result depends on nothing but the tree and the data.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "topk/base/tree_node.hpp"
#include "topk/data/row_source.hpp"
#include "topk/search/node_search.hpp"
#include "topk/search/tree_reader.hpp"

namespace topk {

template <class Count>
class Refinement {
  public:
    using Space = Workspace<Count>;

    // Preconditions: a pass has begun whose last `bottom` levels try all columns; not all levels are among them.
    // `nodes` and `reader` outlive this object.
    Refinement(NodeSearch<Count>& nodes, TreeReader<Count>& reader, int bottom);

    // Replace parts of the tree of the root, trying at most so many columns of a node of either kind. If Stopped is
    // thrown, the tree is complete, and costs no more than before.
    void improve(Space& space, std::size_t n_tries, std::unique_ptr<TreeNode>& tree);

  private:
    // A node above the bottom subtrees. Its node is in the level's buffers, so that there is one per level.
    struct Part {
        const Node<Count>* node;
        std::vector<std::uint32_t> rows;  // the caller's
    };
    // The columns to try, one per feature and list: the best first.
    struct Choices {
        std::vector<std::pair<std::int64_t, std::int32_t>> by_score;  // minus the score, column
        std::vector<std::pair<std::int64_t, std::int32_t>> by_route;  // the weight sent to a side that is wrong, column
    };
    struct Sweep;

    bool is_bottom(int level) const { return context_.plan.height(level) <= bottom_; }
    bool is_true(std::uint32_t row, std::int32_t column) const;
    bool is_wrong(std::uint32_t row, const TreeNode& tree) const;
    std::int64_t weight(std::uint32_t row) const;
    std::vector<std::uint32_t> side(const Part& part, std::int32_t column, bool value) const;
    bool is_admissible(const Part& part, std::int32_t column) const;

    void improve(Space& space, int level, const Part& part, std::unique_ptr<TreeNode>& tree);
    void improve_children(Space& space, int level, const Part& part, TreeNode& tree);
    bool try_scores(Space& space, int level, const Part& part, std::unique_ptr<TreeNode>& tree);
    bool try_routes(Space& space, int level, const Part& part, std::unique_ptr<TreeNode>& tree);
    Choices choices(Space& space, const Part& part, const TreeNode& tree) const;
    void sweep_group(const Part& part, std::size_t g, Sweep& sweep, Choices& choices) const;
    void sweep_bits(Space& space, const Part& part, const Sweep& sweep, Choices& choices) const;

    // Return a tree whose upper splits are those of `like`, or null if it costs at least the budget.
    std::unique_ptr<TreeNode> rerouted(Space& space, int level, const Node<Count>& node,
                                       std::vector<std::uint32_t> rows, const TreeNode& like, std::int64_t budget);
    std::unique_ptr<TreeNode> split_like(Space& space, int level, const Part& part, std::int32_t column,
                                         const TreeNode* const like[2], std::int64_t budget);

    NodeSearch<Count>& nodes_;
    TreeReader<Count>& reader_;
    SearchContext<Count>& context_;
    const int bottom_;
    const RowSource source_;
    std::size_t n_tries_ = 0;
};

// Set the cost of every split of the tree to that of its leaves.
void add_up(TreeNode& tree);

extern template class Refinement<std::int32_t>;
extern template class Refinement<std::int64_t>;

}  // namespace topk
