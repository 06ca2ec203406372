// The candidates of a node where some columns are thresholds of ordered groups.
//
// The columns of bits and the thresholds of the grid are scored from their counts. A block of the grid is looked at row
// by row only if the counts at its two ends allow a score that is among the k best. Thresholds with no rows of the node
// between them divide it alike and score the same; they are a run of columns, of which the first stands for all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topk/base/column_map.hpp"
#include "topk/base/memory.hpp"
#include "topk/base/types.hpp"
#include "topk/candidates/candidates.hpp"
#include "topk/candidates/kth_score.hpp"
#include "topk/candidates/last_level.hpp"
#include "topk/candidates/ordered_view.hpp"
#include "topk/candidates/witnesses.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/node.hpp"
#include "topk/parallel/stop.hpp"
#include "topk/score/scoring.hpp"

namespace topk {

// One per thread of execution.
template <class Count>
class OrderedRanking {
  public:
    // All arguments must outlive this object.
    OrderedRanking(const Data& data, const ColumnMap& columns, const Objective& objective, const Scorer& scorer,
                   SideLimits limits)
        : data_(data),
          columns_(columns),
          objective_(objective),
          scorer_(scorer),
          limits_(limits),
          has_readings_(!objective.second_reading.empty() ||
                        std::any_of(data.groups.begin(), data.groups.end(),
                                    [](const OrderedGroup& group) { return group.has_missing; })) {}

    struct Request {
        std::size_t k;
        bool all;     // every column that can split the node is a candidate
        bool expand;  // list all columns of a run; with distinct_splits, only columns that divide the node differently
        bool distinct;
    };
    struct Candidate {
        std::int32_t column;
        std::int64_t errors;  // of two leaves
        std::int64_t places;  // that it takes: it stands for as many columns
    };

    // Begin with a subset, which must stay as it is until finish().
    void begin(OrderedView<Count>& view, const Request& request, Ticker& ticker);
    // Return a lower bound of the fewest errors of the candidates; numeric max if there are none.
    std::int64_t lowest_errors();
    // Look at the rows of one more block, which may raise that bound. Returns false if no more need to be looked at.
    bool look_closer(Ticker& ticker);
    // Set `witnesses` to the best splits of the subset that was begun with.
    void keep(SplitList& witnesses) const;
    // Does each column that can split a subset take one of the k places, whatever its feature and its rows?
    bool is_plain() const {
        return !has_readings_ && !objective_.distinct_splits && objective_.draw.n_features == 0 && !limits_.track_rows;
    }
    // Return the candidates, best first. `rows`: the subset.
    const std::vector<Candidate>& finish(const RowSet& rows, Ticker& ticker);

  private:
    // A run of columns that divide the subset alike.
    struct Run {
        std::int64_t score;
        std::int64_t errors;
        std::int32_t column;  // the first one
        std::int32_t test;    // the column that is the first reading of its test
        std::uint32_t size;
    };
    struct OpenBlock {
        std::int64_t bound;   // no score is higher
        std::int64_t errors;  // no fewer errors; -1: not known yet
        std::size_t group;
        std::size_t block;
        Reading reading;
        std::int64_t best = -1;  // score in it, once it was looked at
    };
    // What is known of a test while candidates are selected.
    struct Test {
        std::int64_t score;  // of the reading that came first
        bool has_place;
    };

    void draw();
    bool can_split(std::size_t g);
    bool has_readings(std::size_t g) const;
    void start(std::size_t k);
    void bound_blocks(std::size_t g);
    void bound_block(std::size_t g, std::size_t block, Reading reading);
    void refine(OpenBlock& block);
    void take_bits();
    void take_cuts();
    void take_second_readings(std::size_t g);
    void take_cut(std::size_t g, std::size_t i, Reading reading, std::int64_t score, std::int64_t errors);
    void add_run(const Run& like, std::size_t g, std::size_t first, std::size_t last, Reading reading);
    std::int64_t limit() const { return best_scores_.limit(); }  // candidates have at least this score
    void find_blocks(std::size_t k);
    bool select(const RowSet& rows);
    bool is_known(const Run& run, std::span<const Run> kept, const RowSet& rows);
    std::int64_t column_errors(std::size_t column) const;

    const Data& data_;
    const ColumnMap& columns_;
    const Objective& objective_;
    const Scorer& scorer_;
    const SideLimits limits_;
    const bool has_readings_;  // some test has two

    OrderedView<Count>* view_ = nullptr;
    Request request_ = {0, false, false, false};
    NodeTerms terms_;
    AlignedBuffer<ScoreKey> keys_;        // of the columns of the matrix
    AlignedBuffer<std::int64_t> bounds_;  // of the blocks of a group
    std::vector<ScoreKey> best_;          // buffer
    std::vector<bool> drawn_;             // per group
    bool all_ = false;                    // every column that can split the subset is a candidate
    KthScore best_scores_;                // of different tests
    std::vector<std::size_t> scored_;     // columns of the matrix with at least the limit at the start, ascending
    std::vector<OpenBlock> blocks_;       // the highest bound first
    std::size_t n_looked_at_ = 0;         // of the blocks
    std::vector<Run> runs_;
    LeftSide low_, high_;
    std::vector<AlignedBuffer<std::uint64_t>> bits_;  // of runs that are kept, for comparisons
    std::vector<ColumnBits> kept_bits_;
    std::vector<Candidate> candidates_;
};

extern template class OrderedRanking<std::int32_t>;
extern template class OrderedRanking<std::int64_t>;

}  // namespace topk
