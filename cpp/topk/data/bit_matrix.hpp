// The rows of a search as bits, and subsets of them.
//
// Rows are sorted by class and each class starts a new 64-row word, so that a word belongs to one class and one pass of
// popcounts over a column yields the counts of every class. A row of weight 5 is stored twice, among the rows of its
// class with weight 1 and among those with weight 4: a span of words has one class and one weight, a power of two.
// Where that would take too many copies, as with real weights, rows are stored once and their weights next to them as
// bit planes. A subset is the list of words it has rows in, with a mask each; it has a meaning only together with its
// matrix. A subset can be compacted into a matrix of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "topk/base/column_map.hpp"
#include "topk/base/fingerprint.hpp"
#include "topk/base/memory.hpp"
#include "topk/base/types.hpp"
#include "topk/data/ordered_rows.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/parallel/stop.hpp"

namespace topk {

// The words [begin, end) of a subset's list, which hold rows of one class and of weight 2^shift.
struct Span {
    std::int32_t class_index;
    int shift;
    std::uint32_t begin;
    std::uint32_t end;
};

struct Subset {
    std::vector<std::uint32_t> words;
    std::vector<std::uint64_t> masks;  // never zero
    std::vector<Span> spans;           // ordered by class and shift, none empty

    WordList list(const Span& span) const {
        return {words.data() + span.begin, masks.data() + span.begin, span.end - span.begin};
    }
    WordList list() const { return {words.data(), masks.data(), masks.size()}; }
};

// Where the bits of a column are: those of word w at data[w * stride].
struct ColumnBits {
    const std::uint64_t* data;
    std::size_t stride;
    std::uint64_t word(std::size_t w) const { return data[w * stride]; }
};

inline std::size_t padded(std::size_t n_columns) {
    return (std::max<std::size_t>(n_columns, 1) + kColumnPadding - 1) / kColumnPadding * kColumnPadding;
}

struct BitMatrix {
    std::size_t n_columns = 0;  // padded
    std::size_t n_bits = 0;     // columns that are the caller's, or those kept of them; the grid's follow
    std::size_t n_words = 0;
    AlignedBuffer<std::uint64_t> bits;  // n_words * n_columns, word-major
    // 64 * n_words each: a random fingerprint per row, whose XOR over a subset identifies the subset.
    bool has_fingerprints = false;
    Fingerprint salt;
    AlignedBuffer<std::uint64_t> fingerprint_low, fingerprint_high;
    // Bit planes of the row weights, plane-major: a row's weight is the sum of 2^p over the planes p with its bit set.
    std::size_t n_planes = 0;  // 0: the weights follow from the spans
    AlignedBuffer<std::uint64_t> planes;
    // One copy of every row that is stored several times; used only if rows have weights.
    bool has_primary = false;
    AlignedBuffer<std::uint64_t> primary;
    // Rows that every tree misclassifies, since rows of a heavier class have the same columns.
    bool has_conflicts = false;
    AlignedBuffer<std::uint64_t> conflicts;

    OrderedRows ordered;

    // Set by keep_columns(); all empty if the columns are the caller's.
    std::vector<std::int32_t> caller_column;  // ascending
    std::vector<std::int64_t> copies;         // (n_columns): how many of the caller's columns it stands for
    std::vector<std::int32_t> place;          // of each of the caller's columns, or -1

    std::int32_t column_of(std::size_t place_here) const {
        return place.empty() ? static_cast<std::int32_t>(place_here) : caller_column[place_here];
    }
    std::int32_t place_of(std::int32_t column) const {
        return place.empty() ? column : place[static_cast<std::size_t>(column)];
    }
    const std::uint64_t* word(std::size_t w) const { return bits.data() + w * n_columns; }
    ColumnBits column(std::size_t j) const { return {bits.data() + j, n_columns}; }
};

// Parts of a matrix that only some searches need.
struct MatrixExtras {
    bool conflicts = false;     // searched for if a sample of the rows has some
    bool fingerprints = false;  // 16 bytes per row
    Arrange arrange = Arrange::never;
    std::size_t few_thresholds = 0;  // as in Tuning
    int threads = 1;                 // as in Tuning, and so is the next
    double threads_after = 0;
};

// Sort the rows of `data` by class and transpose them into `matrix`. `all` becomes the subset of all rows.
// Precondition: `data` is valid; see base/validate.hpp.
void build_matrix(const Data& data, MatrixExtras extras, const Kernels& kernels, Ticker& ticker, BitMatrix& matrix,
                  Subset& all);

// Hash the rows of a matrix, their classes and their weights: the salt of the fingerprints of its subsets. `all`: the
// subset of all its rows.
Fingerprint hash_matrix(const BitMatrix& matrix, const Subset& all, const Kernels& kernels, Ticker& ticker);

// Return the bits of any of all columns, in `buffer` unless the matrix has them.
ColumnBits bits_of(const BitMatrix& matrix, const ColumnPlace& place, AlignedBuffer<std::uint64_t>& buffer);

// Set `out` to the rows of the masks, one per word of a matrix with these ordered rows.
void select_rows(const OrderedRows& ordered, std::span<const std::uint64_t> masks, Subset& out);

// Set `out` to the rows of `subset` whose bit of a column is `side`.
void split(const BitMatrix& matrix, const Subset& subset, ColumnBits column, bool side, Subset& out);
inline void split(const BitMatrix& matrix, const Subset& subset, std::size_t column, bool side, Subset& out) {
    split(matrix, subset, matrix.column(column), side, out);
}

// Copy the rows of `subset` into a dense matrix, with a grid of its own. `all` becomes the subset of all its rows.
void compact(const BitMatrix& matrix, const Subset& subset, const Kernels& kernels, Ticker& ticker, BitMatrix& out,
             Subset& all);

// Drop all columns but those of `kept`, ascending; the i-th of them stands for copies[i] of the caller's columns.
// Precondition: there are no ordered groups.
void keep_columns(BitMatrix& matrix, std::span<const std::size_t> kept, std::span<const std::int64_t> copies);

}  // namespace topk
