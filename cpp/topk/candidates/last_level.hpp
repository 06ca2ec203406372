// Errors of the two children of a node that may be split once more, from counts alone.
//
// Only the smaller child is counted: its counts and the parent's give the errors of both children for every column. The
// fewest errors over all columns are a lower bound for the k best columns, and mostly decide. Where nodes draw
// features, only those that the children draw are counted; see drawn_columns.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "topk/base/memory.hpp"
#include "topk/candidates/candidates.hpp"
#include "topk/candidates/drawn_columns.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"
#include "topk/data/node.hpp"
#include "topk/score/scoring.hpp"

namespace topk {

// The rows and the weight that a split must leave on both sides.
struct SideLimits {
    std::int64_t min_weight;
    std::int64_t min_rows;    // checked only if track_rows
    bool track_rows;          // rows and weights differ, and both matter
    std::int64_t too_little;  // weight that a side with too little of it has at most
};

bool has_weights(const Data& data);
SideLimits side_limits(const Data& data, const Objective& objective);

// The fewest errors of two children over all columns: with the limits, and `free` of them. Whether a column with all
// rows on one side counts among the latter is unspecified: it has the errors of a leaf.
template <class Count>
struct Fewest {
    Count of[2];
    Count free[2];
};

// One per thread of execution. Child 0 is the smaller one, child 1 the larger one. "Fewest errors" are numeric max if
// no column can split the child.
template <class Count>
class LastLevel {
  public:
    // `drawn`: null if all columns are to be counted. The objective must outlive this object.
    LastLevel(const Kernels& kernels, const Scorer& scorer, SideLimits limits, const Objective& objective,
              std::size_t n_columns, DrawnColumns<Count>* drawn = nullptr)
        : kernels_(kernels),
          scorer_(scorer),
          limits_(limits),
          distinct_(objective.distinct_splits),
          second_reading_(objective.second_reading),
          n_columns_(n_columns),
          drawn_(drawn) {}

    // Are only the features that the children draw counted?
    bool draws() const { return drawn_ != nullptr; }

    // Begin with the children of this node. Precondition: it is not moved until the next call.
    void begin(const Node<Count>& node);

    // Return the fewest errors of the node itself, over all columns. Precondition: rows are not tracked.
    Count fewest_errors(const Node<Count>& node) { return fewest_errors(node.counts, node.matrix->n_columns); }

    // Count the smaller children of the splits on these columns in one pass over the rows, for later calls of count().
    // For nodes whose rows do not fit into the cache: fetching them takes longer than counting.
    void count_ahead(const Node<Count>& node, std::span<const std::int32_t> columns, Counter<Count>& counter);
    bool is_ahead(std::int32_t column) const {
        return std::find(ahead_columns_.begin(), ahead_columns_.end(), column) != ahead_columns_.end();
    }

    // Open the children of `node` on this split. Returns the conflicts of the smaller one.
    Count open(const Node<Count>& node, const Split<Count>& split_on, Counter<Count>& counter);

    // The same, given the rows of the smaller child. Precondition: not draws().
    void open(Subset& small) { std::swap(small_, small); }

    // Count the children; fewest.of[i] are the fewest errors of child i over all columns. Preconditions: not draws(),
    // and the children are open or counted ahead.
    Fewest<Count> count(const Node<Count>& node, const Split<Count>& split_on, Counter<Count>& counter);

    // The same, given the counts of the false side, (classes of the node, n_columns). Precondition: rows are not
    // tracked.
    Fewest<Count> take(const Node<Count>& node, const Split<Count>& split_on, const Count* false_counts);

    // Return the counts of child i. Precondition: they are counted. Those of the smaller child are valid with the
    // others.
    const Counts<Count>& child_counts(const Node<Count>& node, int i);

    // Return the errors of child i per column. Precondition: the children are counted.
    const Count* errors(int i) const { return errors_[i].data(); }

    // Return the fewest errors of child i over its k best-scoring columns, given fewest.of[i] of count().
    Count best_of_k(const Node<Count>& node, const Split<Count>& split_on, int i, std::size_t k, Count fewest,
                    Ticker& ticker);

    // Count child i of the open split, and return its fewest errors over the columns that it draws. Precondition:
    // draws().
    Count count_drawn(int i, Counter<Count>& counter);

    // Return the fewest errors of that child over the k best-scoring columns that it draws.
    Count best_of_k_drawn(std::size_t k, Count fewest, Ticker& ticker);

    // The counts of the smaller child per class of the node; null for classes without rows. Precondition: not draws().
    std::span<const Count* const> small_rows() const { return small_rows_; }

  private:
    void count_small(const Node<Count>& node, const Split<Count>& split_on, Counter<Count>& counter);
    Fewest<Count> errors(const Counts<Count>& counts, std::size_t n_columns);
    Fewest<Count> fast_errors(const Counts<Count>& counts, std::size_t n_columns)
        requires std::is_same_v<Count, std::int32_t>;
    Fewest<Count> slow_errors(const Counts<Count>& counts, std::size_t n_columns);
    void drop_small_sides(const Counts<Count>& counts, std::size_t n_columns);
    Count fewest_errors(const Counts<Count>& counts, std::size_t n_columns);
    std::optional<Count> best_by_rank(const Count* errors, std::size_t n_columns, std::size_t k, Count fewest) const;
    Count best_of_selected(const Count* errors, std::size_t n_columns, Places places);

    const Kernels& kernels_;
    const Scorer& scorer_;
    const SideLimits limits_;
    const bool distinct_;  // columns that divide the rows alike count as one
    const std::span<const std::int32_t> second_reading_;
    const std::size_t n_columns_;
    DrawnColumns<Count>* const drawn_;

    Subset small_;
    AlignedBuffer<Count> storage_;
    std::vector<std::int32_t> ahead_columns_;  // the columns whose smaller children are counted ahead
    AlignedBuffer<Count> ahead_storage_;       // (columns counted ahead, n_classes, n_columns)
    std::vector<const Count*> small_rows_;     // per class of the parent; null if the child has no rows of it
    std::vector<Count> small_totals_;          // per class of the parent
    AlignedBuffer<std::int32_t> small_n_true_;
    std::int64_t small_n_rows_ = 0;
    AlignedBuffer<Count> errors_[2];  // per column; numeric max if the column cannot split the child
    Counts<Count> small_counts_;
    Node<Count> large_;
    AlignedBuffer<ScoreKey> keys_;
    std::vector<ScoreKey> sorted_keys_;
};

extern template class LastLevel<std::int32_t>;
extern template class LastLevel<std::int64_t>;

}  // namespace topk
