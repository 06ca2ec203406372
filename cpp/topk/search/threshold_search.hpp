// The cheapest tree of a node whose columns are thresholds of ordered groups, where all columns are candidates at this
// level and at all levels below.
//
// The thresholds of a group form a chain: from one to the next, rows move from the right side to the left. With more
// rows the best tree of a side costs no less, and with fewer rows it costs less by at most their weight. So a threshold
// that was tried bounds all others of its chain, and whole stretches between two of them are settled without being
// tried. What a threshold costs is found out only as far as it matters for its neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "topk/base/types.hpp"
#include "topk/data/node.hpp"
#include "topk/search/search_context.hpp"
#include "topk/search/workspace.hpp"

namespace topk {

struct Result;
template <class Count>
class NodeSearch;

// Costs of the sides of a split, false and true: their sum is exact below a budget, else they are lower bounds.
struct SideCosts {
    std::int64_t side[2];
    std::int64_t sum() const { return side[0] + side[1]; }
};

template <class Count>
class ThresholdSearch {
  public:
    using Space = Workspace<Count>;

    // The search must outlive this object.
    explicit ThresholdSearch(NodeSearch<Count>& nodes) : nodes_(nodes) {}

    // Search a node of at least two levels, as NodeSearch::solve(). The column of the result is one of those with the
    // lowest cost. Preconditions: the node has all rows of its matrix, and is_optimal(level) of the plan.
    Result solve(Space& space, int level, const Node<Count>& node, std::int64_t budget);

    // The same for a node with one level left. The column is the one with the best score of those with the lowest cost.
    Result solve_last(Space& space, const Node<Count>& node) const;

    // Return the column with the best score of those with the lowest cost, given one of them. Preconditions as above.
    std::int32_t best_scored(Space& space, int level, const Node<Count>& node, const Result& result);

  private:
    // The places of a group that divide the rows, each in front of an entry, and can be candidates.
    struct Chain {
        std::size_t group;
        Reading reading;
        std::uint32_t start;  // the entry to begin at: the cut of the grid with the best score
        std::vector<std::uint32_t> entry;
        std::vector<std::int64_t> left;   // weight of the rows on its left side
        std::vector<std::int64_t> score;  // empty unless scores matter
    };
    // The best split so far, shared by threads.
    struct Best {
        std::mutex mutex{};
        std::int64_t cost;  // to beat
        std::int32_t column;
        std::int64_t score;  // matters only if `by_score`: then splits of the same cost with a better score win
        bool by_score;

        // Must a split cost less than this to win?
        std::int64_t limit() {
            const std::lock_guard guard(mutex);
            return by_score ? cost + 1 : cost;
        }
        bool wants(std::int64_t its_score, std::int32_t its_column) {
            const std::lock_guard guard(mutex);
            return !by_score || is_before(its_score, its_column);
        }
        // Returns whether it has won. Another thread may have offered a better one since this one was wanted.
        bool offer(std::int64_t its_cost, std::int32_t its_column, std::int64_t its_score) {
            const std::lock_guard guard(mutex);
            const bool wins = its_cost < cost || (by_score && its_cost == cost && is_before(its_score, its_column));
            if (wins) {
                cost = its_cost;
                column = its_column;
                score = its_score;
            }
            return wins;
        }
        bool is_before(std::int64_t its_score, std::int32_t its_column) const {
            return its_score > score || (its_score == score && its_column < column);
        }
    };
    // A place that was tried, with lower bounds of both sides; or an end of the chain.
    struct Tried {
        std::size_t place;  // plus one: 0 and the number of places plus one are the ends
        SideCosts cost = {{0, 0}};
        std::uint32_t entry = 0;        // where `counts` are known: of the rows before it, per class and column
        const Count* counts = nullptr;  // null: not known
    };

    void search(Space& space, int level, const Node<Count>& node, Best& best);
    // A column outside of the chains.
    struct Single {
        std::int32_t column;
        std::size_t matrix_column;
        std::int64_t score;
    };

    // Call visit(entry, left side) for every place of a chain.
    template <class Visit>
    void for_places(Space& space, const Node<Count>& node, std::size_t g, Reading reading, Visit visit) const;
    Chain with_places(Chain chain, Space& space, const Node<Count>& node, bool scored) const;
    // Return the keys of the columns of the matrix.
    const ScoreKey* score(Space& space, const Node<Count>& node) const;
    std::int32_t column_at(const Node<Count>& node, std::size_t g, Reading reading, std::uint32_t entry) const;
    // Return the chains of a node, the best first, without their places.
    std::vector<Chain> chains(Space& space, const Node<Count>& node) const;
    std::vector<Single> single_columns(Space& space, const Node<Count>& node) const;
    bool worth_tasks(int level, const Node<Count>& node, std::size_t n_places) const;
    void search_chain(Space& space, int level, const Node<Count>& node, const Chain& chain, Best& best);
    void search_between(Space& space, int level, const Node<Count>& node, const Chain& chain, const Tried& a,
                        const Tried& b, std::size_t depth, Best& best);
    void narrow(const Chain& chain, int height, std::int64_t limit, const Tried& a, const Tried& b, std::size_t& first,
                std::size_t& last) const;
    SideCosts bounds_at(const Chain& chain, int height, const Tried& a, const Tried& b, std::size_t place) const;
    const Count* count_left(Space& space, const Node<Count>& node, std::size_t g, const Tried& known,
                            std::uint32_t entry, std::size_t depth) const;

    NodeSearch<Count>& nodes_;
};

extern template class ThresholdSearch<std::int32_t>;
extern template class ThresholdSearch<std::int64_t>;

}  // namespace topk
