// The input of a search and its result.
//
// One struct of data, one of options, one of results. All weights and costs are integers, so that sums and ties are
// exact: the caller has turned real weights and penalties into integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace topk {

enum class Criterion { entropy, gini, sqrt, gain_ratio, user };

// The columns of a feature whose values are ranked: numbers, or categories in some order. With n ranks there are n - 1
// thresholds; the i-th column is true for the rows of a rank above i, and for missing values. If there are any of
// these, n - 1 more columns follow, the second readings of the thresholds, which are false for missing values, and one
// column that is true for missing values alone.
struct OrderedGroup {
    static constexpr std::uint32_t kMissing = UINT32_MAX;

    std::span<const std::uint32_t> ranks;  // n_rows, each below n_ranks or kMissing
    std::size_t first = 0;                 // index of its first column among all columns
    std::uint32_t n_ranks = 1;
    bool has_missing = false;
    std::int32_t feature = 0;  // as in FeatureDraw

    std::size_t n_thresholds() const { return n_ranks - 1; }
    std::size_t n_columns() const { return has_missing ? 2 * n_thresholds() + 1 : n_thresholds(); }
};

// The rows of a search, either packed (bit j % 64 of word j / 64 of a row is column j; bits beyond the last column are
// ignored) or as flags, one byte per row and column. The caller keeps the arrays alive, and nothing here writes to
// them: searches over different rows and columns may share them. Rows of weight 0 are ignored.
struct Data {
    std::span<const std::uint64_t> rows;  // n_rows * words_per_row; ignored if there are flags
    std::size_t n_rows = 0;
    std::size_t n_columns = 0;              // the columns that take part in the search
    std::span<const std::int32_t> classes;  // n_rows, each in [0, n_classes)
    std::int32_t n_classes = 0;
    std::span<const std::int64_t> row_weight;    // n_rows, each >= 0; empty: every row has weight 1
    std::span<const std::int64_t> class_weight;  // n_classes, each >= 1
    std::span<const std::uint8_t> flags;         // n_rows * n_stored_columns(), row-major, 0 or 1
    std::size_t n_stored = 0;                    // columns in the arrays; 0: as many as take part
    std::span<const std::int32_t> columns = {};  // indices of the columns that take part, ascending; empty: all
    // Groups of columns besides those of rows or flags, by ascending `first`. The other columns have the indices that
    // the groups leave free.
    std::span<const OrderedGroup> groups = {};

    std::size_t n_stored_columns() const { return n_stored == 0 ? n_columns : n_stored; }
};

// A random draw of features at every node: only their columns are candidates. The draw is a function of the seed and
// the class weights of the node, so that equal subsets draw the same features whatever splits lead to them. Otherwise a
// cached result would not be valid for the next path to the same subset.
struct FeatureDraw {
    std::size_t n_features = 0;           // drawn among the features that can split the node; 0: no draw
    std::size_t n_all = 0;                // number of features
    std::vector<std::int32_t> of_column;  // the feature of every column, ascending, in [0, n_all)
    std::uint64_t seed = 0;
};

// Score all columns of one node, given its weighted class counts, both (n_columns, n_classes) in row-major order.
// `admissible[j]` tells whether column j can be a candidate. Called from any thread, once per node; may throw.
using ScoreFunction = std::function<std::vector<double>(
    const std::vector<double>& left, const std::vector<double>& right, const std::vector<bool>& admissible)>;

// Should a search merge equal rows and store similar rows next to each other before it starts?
enum class Arrange { never, if_it_pays, always };

struct Progress {
    double seconds = 0;
    std::int32_t k = 0;
    std::int64_t nodes = 0;
    std::int64_t cost = 0;  // of the best tree so far; -1: none yet
};

struct Solution;

// The options that define the tree.
struct Objective {
    std::vector<std::int32_t> k;  // candidates per level, root first; its size is the depth
    Criterion criterion = Criterion::entropy;
    ScoreFunction user_score;      // for Criterion::user
    double user_weight_unit = 1;   // counts are multiplied by this before user_score sees them
    std::int64_t min_rows = 1;     // on each side of a split
    std::int64_t min_weight = 1;   // on each side of a split
    bool distinct_splits = false;  // columns that divide a node's rows in the same way count as one candidate
    // Per column: how many columns later its test stands once more, with the missing values on the other side; 0:
    // nowhere. Both readings of a test take one of the k places: the candidates are the columns in the order of their
    // scores up to the first reading of the k-th test. A second reading whose score is that of the first is none of
    // them, unless all columns are candidates. Empty: no test has two readings.
    std::vector<std::int32_t> second_reading;
    FeatureDraw draw;
    // If positive: where three levels or more are left and k is smaller than this, so many columns with the best scores
    // are looked at. The candidates are the first k of these by the cost of the greedy tree below each: the one that
    // splits a node on its column with the best score, on the last level on that with the fewest errors, or leaves it a
    // leaf if that costs no more. Ties keep the order of the scores. With two levels left, as many columns are
    // candidates; with one level left, all columns are.
    std::int32_t lookahead = 0;
    // Improve the tree of the search by a local search (search/refinement.hpp). The result costs no more; it may be a
    // tree that the search does not choose from.
    bool refine = false;
    std::int64_t cost_scale = 1;  // cost of one unit of misclassified weight
    std::int64_t leaf_penalty = 0;
};

// The options that change the time only. They never change the tree, except for a time limit that is reached. The
// thresholds are options so that tests can take both sides of each of them on small data.
struct Tuning {
    int threads = 1;
    double threads_after = 0.002;  // seconds without other threads: starting them takes as long as a short search
    // Parts of a search are tasks for idle threads if each of them is expected to take at least so many cycles of the
    // processor: handing a task over takes some thousands. 0: they always are, even if no thread is idle.
    double task_cycles = 100'000;
    bool use_cache = true;
    bool use_bounds = true;
    std::size_t cache_bytes = std::size_t{1} << 30;
    Arrange arrange = Arrange::if_it_pays;
    // With more rows than this, subsets are identified by the splits that lead to them instead of by fingerprints of
    // their rows: those take 16 bytes per row, more than 100 columns do, and summing them takes as long as counting.
    std::size_t max_fingerprinted_rows = std::size_t{1} << 16;
    // The rows of a node that take more bytes than this do not stay in the second-level cache between its candidates.
    std::size_t large_node_bytes = std::size_t{1} << 20;
    // The rows of a node are moved together, and its columns that divide them alike are merged, if that is expected to
    // save as much as this many passes over its rows: it takes as long as twelve.
    double passes_to_compact = 12;
    // With at least this many columns, features are drawn before columns are scored and, on the last level, counted.
    // Fewer columns are scored and counted in less time than the draw takes.
    std::size_t draw_first_columns = 300;
    // With at least this many columns, a search over all columns first solves every node with one level less. With
    // fewer the shallower search takes more time than its bound saves.
    std::size_t shallow_first_columns = 50;
    // A group with at most this many thresholds between the rows of a matrix has all of them counted as bits, if the
    // rows are few.
    std::size_t few_thresholds = 127;
    std::string kernel;     // "": the best one for this machine
    double time_limit = 0;  // seconds; 0: none
    // The cost of some tree in the search space, if the caller knows one: more expensive trees are not searched for.
    // -1: none is known. A value below the optimum costs time (the search starts again without it), never the right
    // tree.
    std::int64_t known_cost = -1;
    // Compute the exact cost of the best tree below every candidate of the root, also of those that can no longer win.
    // Applies to the last pass only, the one with the k asked for.
    bool exact_root = false;
};

struct Callbacks {
    // Called about every 20 ms by the thread that called solve(). What it throws ends the search.
    std::function<void(const Progress&)> poll;
    // Called by that thread with every tree that is better than those before it. If set, the search widens k step by
    // step, as it does with a time limit, and may improve trees by a local search.
    std::function<void(const Solution&)> on_tree;
};

struct Options {
    Objective objective;
    Tuning tuning;
    Callbacks callbacks;
};

// A step of a search: a pass for one k, or a better tree that a local search has found.
struct Step {
    double seconds = 0;
    std::int32_t k = 0;     // the widest of the passes so far
    std::int64_t cost = 0;  // of the best tree so far
};

// The candidates of the root in the last pass that ran to completion, best score first. Empty if no split could pay.
struct RootChoices {
    static constexpr std::size_t kWeighed = 20;  // class weights are kept for the first candidates only
    std::int64_t n_candidates = 0;               // the split of a better tree may follow them in the list
    std::vector<std::int32_t> column;
    std::vector<std::int64_t> cost;         // of the best tree that splits the root there, or a lower bound of it
    std::vector<std::uint8_t> exact;        // 1: the cost is exact; 0: it is a lower bound
    std::vector<std::int64_t> true_weight;  // (first candidates, n_classes): weight of the rows where it is true
    std::vector<std::int64_t> greedy_cost;  // of the tree that a lookahead completes; empty without one
};

struct Statistics {
    double seconds = 0;
    std::int64_t nodes = 0;   // subsets whose columns were examined
    std::int64_t pruned = 0;  // candidates cut off by a bound
    std::int64_t cache_hits = 0;
    std::int64_t cache_bytes = 0;
    std::int32_t k_reached = 0;  // the widest k whose pass ran to completion
    int threads = 1;
    std::string kernel;
    std::vector<Step> trace;
    RootChoices root;
};

// The tree in preorder, false side first. Leaves have column -1 and children -1.
struct Solution {
    std::vector<std::int32_t> column;
    std::vector<std::int32_t> false_child;
    std::vector<std::int32_t> true_child;
    std::vector<std::int64_t> n_rows;        // (n_nodes,)
    std::vector<std::int64_t> class_weight;  // (n_nodes, n_classes), integer weights
    std::vector<std::int64_t> node_wrong;    // (n_nodes,): rows that the node as a leaf misclassifies
    std::int64_t cost = 0;
    std::int64_t n_wrong = 0;  // misclassified rows, whatever their weight
    bool complete = true;      // false: the time limit ended the search before the k asked for
    Statistics statistics;
};

}  // namespace topk
