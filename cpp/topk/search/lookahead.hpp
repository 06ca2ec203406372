// Candidates in the order of what greedy trees below them cost.
//
// The columns with the best scores are listed. Each is completed by the greedy tree below it: the one that splits a
// node on its column with the best score, on the last level on that with the fewest errors, or leaves it a leaf if that
// costs no more. The first k by the cost of that tree are the candidates. No best tree of a candidate costs more than
// its greedy tree, so the lowest of these costs is a bound for the node. A column that is sure to cost more than k
// others is abandoned half-way.
//
// With two levels left, this would be the cost of the best tree below the split, and the first candidate would win. So
// all listed columns are candidates there, as all columns are on the last level, and no lookahead is needed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "topk/bounds/subset_cache.hpp"
#include "topk/data/node.hpp"
#include "topk/search/candidate_group.hpp"
#include "topk/search/search_context.hpp"
#include "topk/search/workspace.hpp"

namespace topk {

template <class Count>
class NodeSearch;

template <class Count>
class Lookahead {
  public:
    using Space = Workspace<Count>;

    // `nodes` outlives this object. `cache`: null if there is none; it keeps the costs of greedy trees.
    Lookahead(NodeSearch<Count>& nodes, SubsetCache* cache);

    // Put the candidates of the node, first to last, into the level's buffers. Returns the lowest cost of their greedy
    // trees; kInfinity if there are no candidates. Precondition: the plan looks ahead at this level.
    std::int64_t rank(Space& space, int level, const Node<Count>& node);

  private:
    class Cheapest;
    using CostAndRank = std::pair<std::int64_t, int>;

    void choose(LevelBuffers<Count>& buffers, const std::vector<CostAndRank>& sorted, int level) const;
    // Return the cost of the greedy tree below a split, exact below the budget, else a lower bound. At least two levels
    // are left below it.
    std::int64_t split_cost(Space& space, int level, const Node<Count>& node, std::int32_t column, std::int64_t budget);
    std::int64_t tree_cost(Space& space, int level, const Node<Count>& node, std::int64_t budget);
    std::int32_t test_of(std::int32_t column) const;

    NodeSearch<Count>& nodes_;
    SearchContext<Count>& context_;
    SubsetCache* const cache_;
    std::vector<std::int32_t> first_reading_;  // per column of bits; empty if no test has two
};

extern template class Lookahead<std::int32_t>;
extern template class Lookahead<std::int64_t>;

}  // namespace topk
