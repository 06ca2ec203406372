// The search as a class: what `solve` runs, and what an enumeration of more trees than the best one builds on.
//
// Internal to the core: `search.hpp` has the contract. One object per call; `search.cpp` has the bodies.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "topk/base/types.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/node.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/parallel/stop.hpp"
#include "topk/parallel/thread_pool.hpp"
#include "topk/score/scoring.hpp"
#include "topk/search/incumbent.hpp"
#include "topk/search/literal_fingerprints.hpp"
#include "topk/search/subset_cache.hpp"
#include "topk/search/tree_node.hpp"
#include "topk/search/workspace.hpp"

namespace topk {

// Candidates of the first two levels are tasks, k of the root and 2 k^2 below it, where at least three levels are left.
inline constexpr int kParallelLevels = 2;
inline constexpr int kParallelMinHeight = 3;

struct Result {
    std::int64_t cost;    // exact if solved, else a lower bound that is not below the budget
    std::int32_t column;  // of the split, or kLeaf
    bool solved;
};

// Make `tree` a split with these children.
template <class Count>
void join(TreeNode& tree, const Split<Count>& split_on, std::unique_ptr<TreeNode> small,
          std::unique_ptr<TreeNode> large) {
    tree.cost = small->cost + large->cost;
    tree.column = static_cast<std::int32_t>(split_on.column);
    tree.child[split_on.small_side ? 1 : 0] = std::move(small);
    tree.child[split_on.small_side ? 0 : 1] = std::move(large);
}

template <class Count>
class Search {
  public:
    Search(const Data& data, const Options& options, const Kernels& kernels, std::int64_t total);
    Solution run();

  protected:
    using Space = Workspace<Count>;

    int height(int level) const { return static_cast<int>(k_.size()) - level; }
    std::int64_t leaf_cost(Count errors) const {
        return static_cast<std::int64_t>(errors) * options_.cost_scale + options_.leaf_penalty;
    }
    // What every tree of a set costs at least: a leaf its errors, any other tree the conflicts and two leaves.
    std::int64_t lowest_cost(Count errors, Count conflicts) const {
        return std::min(leaf_cost(errors), leaf_cost(conflicts) + options_.leaf_penalty);
    }
    Key subset_key(const BitMatrix& matrix, const Subset& subset) const {
        return matrix.has_keys ? kernels_.xor_keys(matrix.key_low.data(), matrix.key_high.data(), subset.list())
                               : Key();
    }
    bool may_be_parallel(int level) const {
        return options_.threads > 1 && level < kParallelLevels && height(level) >= kParallelMinHeight;
    }
    // Whether tried splits bound others: only bounds over all columns do, which is what the last level has anyway.
    bool bounds_sides(int level) const {
        bool over_all_columns = true;
        for (int below = level + 1; below < static_cast<int>(k_.size()); ++below) {
            over_all_columns &= all_columns(below);
        }
        return options_.use_bounds && limits_.min_weight == 1 && !limits_.track_rows &&
               (over_all_columns || height(level) == 2);
    }
    bool is_large(const Node<Count>& node) const {
        return matrix_.n_planes == 0 &&
               node.subset.words.size() * matrix_.n_columns * sizeof(std::uint64_t) > options_.large_node_bytes;
    }
    std::int64_t budget_or_none(std::int64_t budget) const { return options_.use_bounds ? budget : kInfinity; }
    bool all_columns(int level) const {
        return static_cast<std::size_t>(k_[static_cast<std::size_t>(level)]) >= data_.n_columns &&
               options_.draw.n_features == 0;
    }

    void find_best(Space& space, std::unique_ptr<TreeNode>& best);
    bool is_long_search() const;
    void build_root(Space& space);
    std::int64_t known_budget() const { return options_.known_cost < 0 ? kInfinity : options_.known_cost + 1; }
    std::unique_ptr<TreeNode> search_pass(Space& space, std::int32_t k, std::int64_t budget);
    std::unique_ptr<TreeNode> search(Space& space, std::int64_t budget);
    void report_tree(const TreeNode& tree, Space& space);
    std::unique_ptr<TreeNode> greedy_tree(Space& space, int level, const Node<Count>& node);
    std::unique_ptr<TreeNode> read_tree(Space& space, int level, const Node<Count>& node, std::int64_t budget);
    std::unique_ptr<TreeNode> leaf_node(const Space& space, const Node<Count>& node) const;
    std::int32_t best_column(Space& space, int level, const Node<Count>& node, std::int64_t budget);

    Result solve_node(Space& space, int level, const Node<Count>& node, std::int64_t budget);
    Result solve_last(Space& space, int level, const Node<Count>& node);
    bool deepens(int level) const;
    std::int64_t shallower_cost(Space& space, int level, const Node<Count>& node);
    void try_candidates(Space& space, int level, const Node<Count>& node, std::int64_t lower, std::int64_t shallower,
                        Incumbent& incumbent);
    bool start_threads(int level);
    double cycles_to_try(const Node<Count>& node) const;
    std::int64_t split_cost(Space& space, int level, Family<Count>& family, int rank, std::int64_t budget);
    std::int64_t split_cost_last(Space& space, int level, Family<Count>& family, int rank, std::int64_t budget);
    std::int64_t split_cost_drawn(Space& space, int level, const std::int64_t leaf[2], std::int64_t cost[2],
                                  std::int64_t budget);

    void score(Space& space, const Counts<Count>& counts, std::int64_t* keys) const;
    void rank_candidates(Space& space, int level, const Node<Count>& node) const;
    void rank_drawn(Space& space, int level, const Node<Count>& node) const;
    bool worth_compacting(int level, const Node<Count>& node) const;
    void grow_children(Space& space, int level, const Node<Count>& node, const Split<Count>& split_on,
                       Node<Count> child[2]);
    void open_children(Space& space, const Node<Count>& node, const Split<Count>& split_on, Node<Count> child[2]);
    void count_children(Space& space, const Node<Count>& node, const Split<Count>& split_on, Node<Count> child[2]);

    void count_nodes(Space& space, std::int64_t n);
    std::unique_ptr<Space> make_space() {
        return std::make_unique<Space>(monitor_, kernels_, data_, scorer_, limits_, options_);
    }
    void report_cost(std::int64_t cost);
    void list_choices(const Node<Count>& root, const std::vector<std::int32_t>& candidates);
    void note_choice(int rank, std::int64_t cost, bool exact);
    std::unique_ptr<Space> take_space();
    void lend(const std::function<void(Space&)>& task);
    Solution finish(const TreeNode& tree, Space& space, bool complete);

    const Data& data_;
    const Options& options_;
    const Kernels& kernels_;
    const bool weighted_;
    const SideLimits limits_;
    std::vector<std::int32_t> k_;  // of the current pass
    Monitor monitor_;
    Scorer scorer_;
    std::unique_ptr<SubsetCache> cache_;
    std::unique_ptr<ThreadPool> pool_;
    BitMatrix matrix_;
    LiteralKeys literal_keys_;  // if the rows have none
    Node<Count> root_;
    std::mutex spaces_mutex_;
    std::vector<std::unique_ptr<Space>> spaces_;  // not in use
    // More trees than the best one are wanted: rows need keys, and every candidate is to be one that counts.
    bool enumerates_ = false;
    std::int32_t k_pass_ = 1;  // widest k of the current pass
    bool is_last_pass_ = true;
    std::int32_t k_reached_ = 0;  // of the last one that was finished
    std::vector<Step> trace_;
    RootChoices choices_;       // at the root, in the current pass
    RootChoices last_choices_;  // in the last pass that was finished
    std::atomic<std::int64_t> nodes_ = 0;
    std::atomic<std::int64_t> best_cost_ = -1;  // at the root; -1: none yet
};

extern template class Search<std::int32_t>;
extern template class Search<std::int64_t>;

}  // namespace topk
