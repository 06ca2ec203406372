// The cost of a split with one level left below it: both children follow from counts, without nodes of their own.
#pragma once

#include <cstdint>

#include "topk/bounds/subset_cache.hpp"
#include "topk/data/node.hpp"
#include "topk/search/candidate_group.hpp"
#include "topk/search/search_context.hpp"
#include "topk/search/workspace.hpp"

namespace topk {

template <class Count>
class LastSplit {
  public:
    using Space = Workspace<Count>;

    // `cache`: null if there is none. It keeps the costs of children whose columns are ranked row by row.
    LastSplit(SearchContext<Count>& context, SubsetCache* cache) : context_(context), cache_(cache) {}

    // Begin with the candidates of this group. Precondition: its level has two levels left.
    void begin(Space& space, const CandidateGroup<Count>& group) const;

    // Return the cost of the candidate of this rank, exact below the budget. Precondition: begin() was called.
    std::int64_t cost(Space& space, CandidateGroup<Count>& group, int rank, std::int64_t budget) const;

    // Costs of the two children of a split, smaller and larger: as leaves, and lower bounds or exact.
    struct ChildCosts {
        std::int64_t leaf[2];
        std::int64_t cost[2];
        std::int64_t sum() const { return cost[0] + cost[1]; }
        bool are_leaves() const { return cost[0] == leaf[0] && cost[1] == leaf[1]; }
    };

    // Return the costs of the children of any split of a node with ordered groups; their sum is exact below the budget.
    // `false_counts`: as in LastLevel::take(), or null.
    ChildCosts ordered_costs(Space& space, int level, const Node<Count>& node, const Split<Count>& split_on,
                             const Count* false_counts, std::int64_t budget) const;

  private:
    bool is_large(const Node<Count>& node) const;
    std::int64_t counted_cost(Space& space, CandidateGroup<Count>& group, const Split<Count>& split_on,
                              ChildCosts& costs, std::int64_t budget) const;
    std::int64_t drawn_cost(Space& space, int level, ChildCosts& costs, std::int64_t budget) const;

    SearchContext<Count>& context_;
    SubsetCache* const cache_;
};

extern template class LastSplit<std::int32_t>;
extern template class LastSplit<std::int64_t>;

}  // namespace topk
