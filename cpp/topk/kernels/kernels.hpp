// The inner loops, one implementation per instruction set, all with the same results.
//
// Matrices are word-major: bits[word * stride + column] holds 64 rows of one column, so that vector lanes are columns
// and nothing is summed across lanes. A subset is a list of (word, mask) pairs with non-zero masks. Preconditions of
// all kernels: columns are padded to kColumnPadding, padding columns are false everywhere, and every pointer to columns
// is aligned to 64 bytes. Kernels check nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "topk/base/fingerprint.hpp"
#include "topk/base/score_key.hpp"

namespace topk {

inline constexpr std::size_t kColumnPadding = 16;
inline constexpr std::size_t kMostSorted = 64;

struct WordList {
    const std::uint32_t* words;
    const std::uint64_t* masks;
    std::size_t size;
};

// Class counts of one node over all columns.
struct CountTable {
    const std::int32_t* const* rows;  // per class: weight of the true rows, per column
    const std::int32_t* totals;       // per class
    std::size_t n_classes;
};

// Columns of which each is true for some of the rows of the one before, the first for some of all rows. The i-th block
// has the splits whose true rows are some of those of the column before (or of all) and all of those of the i-th one.
struct NestedColumns {
    std::size_t first;  // index of the first one in the table
    std::size_t n;
    const std::uint8_t* has_gap;  // per block: are there any splits in it?
};

// The table of a node and that of its smaller child, class by class; the larger child is the difference.
struct PairTable {
    const std::int32_t* const* parent_rows;
    const std::int32_t* const* small_rows;  // null where the child has no row of the class
    const std::int32_t* parent_totals;
    const std::int32_t* small_totals;
    std::size_t n_classes;
    // Out, per column: errors of the child split on it; kNoSplit if a side is too small. A minimum of 1 is not checked:
    // a column with all rows on one side has the errors of a leaf.
    std::int32_t* small_errors;
    std::int32_t* large_errors;
};

inline constexpr std::int32_t kNoSplit = INT32_MAX;

// The smallest entries of small_errors and large_errors; `free`: if no side could be too small, or the same if every
// side with a row is large enough.
struct Minima {
    std::int32_t small;
    std::int32_t large;
    std::int32_t small_free;
    std::int32_t large_free;
};

// A split of a node into the sides A and B, and lower bounds for the sides of all other splits; the lemma is in
// bounds/side_bounds.hpp.
struct BoundTable {
    const std::int32_t* both;    // per column: weight of the rows of A that are true
    const std::int32_t* n_true;  // per column: weight of the rows of the node that are true
    std::int32_t weight_a;
    std::int32_t weight_b;
    std::int64_t cost_scale;
    std::int64_t cost_a;
    std::int64_t cost_b;
    std::int64_t* lower_false;  // in and out, per column: raised where the split proves more
    std::int64_t* lower_true;
};

struct EntropyTable {
    const std::int64_t* xlog2x;  // fixed point, for every count up to the node's total
    std::int64_t whole;          // sum of xlog2x over the node's classes, minus xlog2x of their total
};

struct Kernels {
    const char* name;

    // out[j] = sum over the list of popcount(mask & bits[word][j]), j < n_columns (padded).
    void (*count)(const std::uint64_t* bits, std::size_t stride, WordList list, std::size_t n_columns,
                  std::int32_t* out);

    // out[j] += counts[j] * factor, j < n_columns.
    void (*add_product)(const std::int32_t* counts, std::int32_t factor, std::size_t n_columns, std::int32_t* out);

    // XOR of the fingerprints of the rows in the list; row r of word w has {low[64 * w + r], high[64 * w + r]}.
    Fingerprint (*xor_fingerprints)(const std::uint64_t* low, const std::uint64_t* high, WordList list);

    // Errors of each child of a node split once more, for every column; a side must have at least min_side.
    Minima (*last_level)(const PairTable& table, std::int32_t min_side, std::size_t n_columns);

    // out[i], i < nested.n: a lower bound of the errors of all splits in the i-th block, kNoSplit if there are none.
    // Returns the smallest.
    std::int32_t (*block_errors)(const CountTable& table, NestedColumns nested, std::int32_t* out);

    // Raise the lower bounds of all columns to what the split proves.
    void (*raise_bounds)(const BoundTable& table, std::size_t n_columns);

    // keys[j] = key of (rounded entropy gain, j), or kNoScoreKey if a side has less than min_side.
    // Precondition: the node's total is within the table of xlog2x.
    void (*entropy_score_keys)(const CountTable& table, const EntropyTable& entropy, std::int32_t min_side,
                               std::size_t n_columns, ScoreKey* keys);

    // out[i], i < nested.n: a score that none of the splits in the i-th block exceeds; -1 if there are none.
    // Precondition: the node's total is within the table of xlog2x.
    void (*entropy_block_bounds)(const CountTable& table, const EntropyTable& entropy, NestedColumns nested,
                                 std::int64_t* out);

    // The same as entropy_score_keys() for nodes with larger totals: every term is computed, in fixed point of `unit`
    // units.
    void (*large_entropy_score_keys)(const CountTable& table, std::int64_t whole, double unit, std::int32_t min_side,
                                     std::size_t n_columns, ScoreKey* keys);

    // The same for the other criteria that need no logarithms; `whole`: the criterion's value of the node as one side.
    void (*gini_score_keys)(const CountTable& table, std::int64_t whole, double unit, std::int32_t min_side,
                            std::size_t n_columns, ScoreKey* keys);
    void (*sqrt_score_keys)(const CountTable& table, std::int64_t whole, double unit, std::int32_t min_side,
                            std::size_t n_columns, ScoreKey* keys);

    // The number of keys[0..n_columns) that are greater than `key`, or if `copies` is not null the sum of theirs.
    std::size_t (*count_greater)(const ScoreKey* keys, const std::int64_t* copies, std::size_t n_columns, ScoreKey key);

    // Put keys into `out`, which has room for all: all that are candidates among the k best, and others that are.
    // Returns how many.
    std::size_t (*likely_keys)(const ScoreKey* keys, std::size_t n_columns, std::size_t k, ScoreKey* out);

    // Sort at most kMostSorted different keys, best first. The time does not depend on their order, which branches
    // could not predict.
    void (*sort_keys)(ScoreKey* keys, std::size_t n);

    // The number of rows in the list; only those of among[word] if that is not null.
    std::size_t (*count_rows)(WordList list, const std::uint64_t* among);

    // OR the rows of `mask`, moved together and shifted up, into out_low (and what overflows into out_high).
    void (*compress)(const std::uint64_t* in, std::uint64_t mask, unsigned shift, std::size_t n_columns,
                     std::uint64_t* out_low, std::uint64_t* out_high);

    // Bit j % 64 of out[j / 64] = flags[j] != 0, j < n; the bits after the last one are zero.
    void (*pack_flags)(const std::uint8_t* flags, std::size_t n, std::uint64_t* out);

    // Transpose 64 x 64 bits in place: afterwards bit i of block[j] is what bit j of block[i] was.
    void (*transpose)(std::uint64_t* block);

    // A hash of n words that cannot be steered to a wanted value; `start` is the hash of what came before them.
    Fingerprint (*hash_words)(Fingerprint start, const std::uint64_t* words, std::size_t n);

    // The fingerprints of the rows [0, n), n a multiple of 64; see salted_fingerprint().
    void (*fill_fingerprints)(Fingerprint salt, std::size_t n, std::uint64_t* low, std::uint64_t* high);

    // out[i] = xlog2x of i, i < n < 2^31; see xlog2x.hpp.
    void (*fill_xlog2x)(double unit, std::size_t n, std::int64_t* out);
};

// The kernels this machine can run, scalar first, best last.
const std::vector<const Kernels*>& available_kernels();

// Return the kernels with this name, or the best ones for "". Throws std::invalid_argument for an unknown name.
const Kernels& find_kernels(const std::string& name);

}  // namespace topk
