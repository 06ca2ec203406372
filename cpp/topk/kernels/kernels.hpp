// The inner loops, one implementation per instruction set, all with the same results.
//
// Matrices are word-major: bits[word * stride + column] holds 64 rows of one column, so that vector lanes are columns
// and nothing is summed across lanes. A subset is a list of (word, mask) pairs with non-zero masks. Columns are padded
// to kColumnPadding; padding columns are all false. Every pointer to columns is aligned to 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace topk {

inline constexpr std::size_t kColumnPadding = 16;

// Identity of a set of rows: XOR of a random 128-bit key per row.
struct Key {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    friend bool operator==(const Key&, const Key&) = default;
    friend Key operator^(const Key& a, const Key& b) { return {a.low ^ b.low, a.high ^ b.high}; }
};

struct WordList {
    const std::uint32_t* words;
    const std::uint64_t* masks;
    std::size_t size;
};

// Class counts of one node over all columns.
struct CountTable {
    const std::int32_t* const* rows;  // per class: count of true rows per column
    const std::int32_t* totals;       // per class
    std::size_t n_classes;
};

// A node's table and that of its smaller child, class by class; the larger child is the difference.
struct PairTable {
    const std::int32_t* const* parent_rows;
    const std::int32_t* const* small_rows;  // null where the child has no row of the class
    const std::int32_t* parent_totals;
    const std::int32_t* small_totals;
    std::size_t n_classes;
    std::int32_t* small_errors;  // out, per column: errors of the child split on it; kNoSplit if a side is too small
    std::int32_t* large_errors;
};

inline constexpr std::int32_t kNoSplit = INT32_MAX;

// The smallest entries of small_errors and large_errors.
struct Minima {
    std::int32_t small;
    std::int32_t large;
};

// A split of a node into the sides A and B, and bounds of the sides of all other splits; see side_bounds.hpp.
struct BoundTable {
    const std::int32_t* both;    // per column: weight of the rows of A that are true
    const std::int32_t* n_true;  // per column: weight of the rows of the node that are true
    std::int32_t weight_a;
    std::int32_t weight_b;
    std::int64_t cost_scale;
    std::int64_t cost_a;
    std::int64_t cost_b;
    std::int64_t* lower_false;  // raised, per column
    std::int64_t* lower_true;
};

struct EntropyTable {
    const std::int64_t* xlog2x;  // fixed point, for every count up to the node's total
    std::int64_t whole;          // xlog2x summed over the node's classes, less that of their total
};

struct Kernels {
    const char* name;

    // out[j] = sum over the list of popcount(mask & bits[word][j]), j < n_columns (padded).
    void (*count)(const std::uint64_t* bits, std::size_t stride, WordList list, std::size_t n_columns,
                  std::int32_t* out);

    // out[j] += counts[j] * factor, j < n_columns.
    void (*add_product)(const std::int32_t* counts, std::int32_t factor, std::size_t n_columns, std::int32_t* out);

    // XOR of the keys of the rows in the list; row r of word w has keys low[64 * w + r], high[64 * w + r].
    Key (*xor_keys)(const std::uint64_t* low, const std::uint64_t* high, WordList list);

    // Errors of each child of a node split once more, for every column; sides of less than min_side do not count.
    Minima (*last_level)(const PairTable& table, std::int32_t min_side, std::size_t n_columns);

    // Raise the bounds of all columns to what the split says of them.
    void (*raise_bounds)(const BoundTable& table, std::size_t n_columns);

    // keys[j] = packed (rounded entropy gain, column) or -1 if a side has less than min_side; see scoring.hpp.
    void (*entropy_keys)(const CountTable& table, const EntropyTable& entropy, std::int32_t min_side,
                         std::size_t n_columns, std::int64_t* keys);

    // The same for nodes whose counts are too large for a table: every term is computed, in fixed point of `unit`
    // units.
    void (*large_entropy_keys)(const CountTable& table, std::int64_t whole, double unit, std::int32_t min_side,
                               std::size_t n_columns, std::int64_t* keys);

    // How many of keys[0..n_columns) are greater than `key`.
    std::size_t (*count_greater)(const std::int64_t* keys, std::size_t n_columns, std::int64_t key);

    // Rows in the list; only those of among[word] if that is not null.
    std::size_t (*count_rows)(WordList list, const std::uint64_t* among);

    // The rows of `mask`, moved together and shifted up, are ORed into out_low (and what overflows into out_high).
    void (*compress)(const std::uint64_t* in, std::uint64_t mask, unsigned shift, std::size_t n_columns,
                     std::uint64_t* out_low, std::uint64_t* out_high);

    // Bit j % 64 of out[j / 64] = flags[j] != 0, j < n; the bits after the last are zero.
    void (*pack_flags)(const std::uint8_t* flags, std::size_t n, std::uint64_t* out);

    // 64 x 64 bits, aligned: afterwards bit i of block[j] is what bit j of block[i] was.
    void (*transpose)(std::uint64_t* block);

    // Random keys of the rows 0 .. n, n a multiple of 64.
    void (*fill_keys)(std::size_t n, std::uint64_t* low, std::uint64_t* high);

    // out[i] = xlog2x of i, i < n < 2^31; see xlog2x.hpp.
    void (*fill_xlog2x)(double unit, std::size_t n, std::int64_t* out);
};

// The kernels this machine can run, scalar first, best last.
const std::vector<const Kernels*>& available_kernels();

// By name, or the best one for "". Throws std::invalid_argument for a name that is not available.
const Kernels& find_kernels(const std::string& name);

}  // namespace topk
