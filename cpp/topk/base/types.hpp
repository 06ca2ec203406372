// What goes into a search and what comes out of it.
//
// One struct of data, one of options, one of results. All weights and costs are integers, so that sums and ties are
// exact; the caller has turned real weights and penalties into integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace topk {

enum class Criterion { entropy, gini, sqrt, gain_ratio, user };

// Rows packed row by row: bit j % 64 of word j / 64 of a row is column j; bits beyond the last column do not matter.
// Or as flags, a byte for every row and column. The caller keeps the arrays alive. Rows that weigh 0 are as if they
// were not there: searches of different rows and columns share the same arrays.
struct Data {
    std::span<const std::uint64_t> rows;  // n_rows * words_per_row; not used if there are flags
    std::size_t n_rows = 0;
    std::size_t n_columns = 0;              // that take part
    std::span<const std::int32_t> classes;  // n_rows, in [0, n_classes)
    std::int32_t n_classes = 0;
    std::span<const std::int64_t> row_weight;    // n_rows, all >= 0; empty: every row weighs 1
    std::span<const std::int64_t> class_weight;  // n_classes, all >= 1
    std::span<const std::uint8_t> flags;         // n_rows * n_stored_columns(), row-major, 0 or 1
    std::size_t n_stored = 0;                    // columns that the rows have; 0: those that take part
    std::span<const std::int32_t> columns = {};  // if only some take part: which, rising

    std::size_t n_stored_columns() const { return n_stored == 0 ? n_columns : n_stored; }
};

// A draw of features at every node: only their columns are candidates. It depends on the seed and the class weights of
// the node, so that equal subsets draw alike, whatever splits lead to them.
struct FeatureDraw {
    std::size_t n_features = 0;           // of those that can split the node; 0: all of them
    std::size_t n_all = 0;                // features that there are
    std::vector<std::int32_t> of_column;  // the feature of every column, in [0, n_all)
    std::uint64_t seed = 0;
};

// Scores of all columns of one node from its weighted class counts, both (n_columns, n_classes) in row-major order.
// Called from any thread, one call per node; may throw. `admissible[j]` says whether column j can be a candidate.
using ScoreFunction = std::function<std::vector<double>(
    const std::vector<double>& left, const std::vector<double>& right, const std::vector<bool>& admissible)>;

// Whether a search first merges equal rows and puts similar ones together.
enum class Arrange { never, if_it_pays, always };

struct Progress {
    double seconds = 0;
    std::int32_t k = 0;
    std::int64_t nodes = 0;
    std::int64_t cost = 0;  // of the best tree so far; -1: none yet
};

struct Solution;

struct Options {
    std::vector<std::int32_t> k;  // candidates per level, root first; its size is the depth
    Criterion criterion = Criterion::entropy;
    ScoreFunction user_score;      // for Criterion::user
    double user_weight_unit = 1;   // counts are multiplied by this before user_score sees them
    std::int64_t min_rows = 1;     // on each side of a split
    std::int64_t min_weight = 1;   // likewise
    bool distinct_splits = false;  // columns that split a node's rows alike count as one candidate
    FeatureDraw draw;
    std::int64_t cost_scale = 1;  // cost of a unit of misclassified weight
    std::int64_t leaf_penalty = 0;
    int threads = 1;
    double threads_after = 0.002;  // seconds: starting them takes as long as a short search
    bool use_cache = true;
    bool use_bounds = true;
    std::size_t cache_bytes = std::size_t{1} << 30;
    Arrange arrange = Arrange::if_it_pays;
    // Subsets of more rows than this are known by the splits that lead to them, not by keys of their rows: those take
    // 16 bytes a row, more than 100 columns do, and a pass over them takes as long as counting.
    std::size_t max_keyed_rows = std::size_t{1} << 16;
    // Rows of a node that are more bytes than this do not stay in the second-level cache between its candidates.
    std::size_t large_node_bytes = std::size_t{1} << 20;
    // With so many columns features are drawn before columns are scored and, on the last level, counted. Fewer are
    // scored and counted in less time than it takes to draw.
    std::size_t many_columns = 300;
    std::string kernel;     // "" = the best one for this machine
    double time_limit = 0;  // seconds; 0 = none
    // Cost of some tree that the search can find, known beforehand: it need not look for dearer ones. -1: none is
    // known. One that is too low costs time, but not the right tree.
    std::int64_t known_cost = -1;
    // Find the cost of the best tree below every candidate of the root, also of those that can no longer win; not in
    // the passes of a smaller k.
    bool exact_root = false;
    // Called about every 20 ms by the thread that called solve(); throws to end the search.
    std::function<void(const Progress&)> poll;
    // Called by that thread with every tree that is better than those before it. If it is there, the search widens k
    // step by step, as with a time limit.
    std::function<void(const Solution&)> on_tree;
};

// One pass of a search that widens k.
struct Step {
    double seconds = 0;
    std::int32_t k = 0;
    std::int64_t cost = 0;  // of the best tree for this k
};

// The candidates of the root in the last pass that was finished, best score first. None if no split could pay.
struct RootChoices {
    static constexpr std::size_t kWeighed = 20;  // of so many the class weights are kept
    std::vector<std::int32_t> column;
    std::vector<std::int64_t> cost;         // of the best tree that splits the root there, or a lower bound of it
    std::vector<std::uint8_t> exact;        // whether it is the cost itself
    std::vector<std::int64_t> true_weight;  // per candidate (the first of them) and class: weight where it is true
};

struct Statistics {
    double seconds = 0;
    std::int64_t nodes = 0;   // subsets whose columns were examined
    std::int64_t pruned = 0;  // candidates cut off by a bound
    std::int64_t cache_hits = 0;
    std::int64_t cache_bytes = 0;
    std::int32_t k_reached = 0;  // the widest k whose search finished
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
    std::vector<std::int64_t> n_rows;        // per node
    std::vector<std::int64_t> class_weight;  // per node and class, in integer weights
    std::int64_t cost = 0;
    std::int64_t n_wrong = 0;  // rows that the tree gets wrong, whatever they weigh
    bool complete = true;      // false: the time limit ended the search before the k asked for
    Statistics statistics;
};

}  // namespace topk
