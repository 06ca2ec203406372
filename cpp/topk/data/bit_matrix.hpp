// The rows of a search as bits, and subsets of them.
//
// Rows are sorted by class and each class starts a new 64-row word, so that a word belongs to one class and one pass of
// popcounts over a column yields the counts of every class. A row of weight 5 is there twice, among the rows of its
// class that weigh 1 and among those that weigh 4: a span of words has one class and one weight, a power of two. Where
// that would be too many copies, as with real weights, rows are there once and their weights beside them as bit planes.
// A subset is the list of words it has rows in, with a mask each; it is only meaningful together with its matrix. A
// subset can be compacted into a matrix of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "topk/base/memory.hpp"
#include "topk/base/types.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/parallel/stop.hpp"

namespace topk {

// The words [begin, end) of a subset's list that hold rows of one class and of the weight 2^shift.
struct Span {
    std::int32_t class_index;
    int shift;
    std::uint32_t begin;
    std::uint32_t end;
};

struct Subset {
    std::vector<std::uint32_t> words;
    std::vector<std::uint64_t> masks;  // never zero
    std::vector<Span> spans;           // in the order of class and shift, none empty

    WordList list(const Span& span) const {
        return {words.data() + span.begin, masks.data() + span.begin, span.end - span.begin};
    }
    WordList list() const { return {words.data(), masks.data(), masks.size()}; }
};

struct BitMatrix {
    std::size_t n_columns = 0;  // padded
    std::size_t n_words = 0;
    AlignedBuffer<std::uint64_t> bits;  // n_words * n_columns, word-major
    // 64 * n_words: a random key per row, whose sums identify subsets.
    bool has_keys = false;
    AlignedBuffer<std::uint64_t> key_low, key_high;
    // Bit planes of the row weights, plane-major: weight = sum of 2^p over the planes p that have the row's bit.
    std::size_t n_planes = 0;  // 0: the spans tell the weights
    AlignedBuffer<std::uint64_t> planes;
    // Of a row that is there several times, one: only if rows have weights.
    bool has_primary = false;
    AlignedBuffer<std::uint64_t> primary;
    // Rows that any tree misclassifies: their columns equal those of rows of a heavier class.
    bool has_conflicts = false;
    AlignedBuffer<std::uint64_t> conflicts;

    const std::uint64_t* word(std::size_t w) const { return bits.data() + w * n_columns; }
};

// What only some searches need of a matrix.
struct MatrixExtras {
    bool conflicts = false;  // looked for if they may be many
    bool keys = false;       // take 16 bytes a row
    Arrange arrange = Arrange::never;
};

// Sort the rows of `data` by class and transpose them into `matrix`; `all` becomes the subset of all rows.
void build_matrix(const Data& data, MatrixExtras extras, const Kernels& kernels, Ticker& ticker, BitMatrix& matrix,
                  Subset& all);

// The rows of `subset` that have `column` == side.
void split(const BitMatrix& matrix, const Subset& subset, std::size_t column, bool side, Subset& out);

// Copy the rows of `subset` into a dense matrix; `all` becomes the subset of its rows.
void compact(const BitMatrix& matrix, const Subset& subset, const Kernels& kernels, BitMatrix& out, Subset& all);

}  // namespace topk
