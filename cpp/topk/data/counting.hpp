// Class counts of every column on a subset: the search's only contact with the rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topk/base/memory.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/parallel/stop.hpp"

namespace topk {

// The rows whose bit of a column is `value`.
struct Side {
    ColumnBits column;
    bool value;
};

// Adjacent columns; begin and end are multiples of kColumnPadding.
struct ColumnRange {
    std::size_t begin;
    std::size_t end;
    std::size_t size() const { return end - begin; }
};

// One per thread of execution, since it has scratch space. Count is int32_t or int64_t, wide enough for the total
// weight.
template <class Count>
class Counter {
  public:
    Counter(const Kernels& kernels, std::span<const std::int64_t> class_weight, Ticker& ticker)
        : kernels_(kernels), class_weight_(class_weight), ticker_(ticker) {}

    // out[j] = weight of the rows with column j, for all (padded) columns, among the rows of one class: the class of
    // subset.spans[span]. Advances `span` to the next class.
    void weights(const BitMatrix& matrix, const Subset& subset, std::size_t& span, Count* out) {
        const ColumnRange all = {0, matrix.n_columns};
        if constexpr (std::is_same_v<Count, std::int32_t>) {
            const Span& here = subset.spans[span];
            const bool is_whole_class =
                span + 1 == subset.spans.size() || subset.spans[span + 1].class_index != here.class_index;
            if (is_whole_class && matrix.n_planes == 0 && here.shift == 0 &&
                class_weight_[static_cast<std::size_t>(here.class_index)] == 1) {
                count(matrix, subset.list(here), all, out);
                ++span;
                return;
            }
        }
        weights(matrix, subset, std::span(&all, 1), span, out);
    }

    // The same for the columns of some ranges; out[j] of other columns is not written.
    void weights(const BitMatrix& matrix, const Subset& subset, std::span<const ColumnRange> ranges, std::size_t& span,
                 Count* out);

    // The same for several sides of splits of the subset at once: out[i][j] for side i. The rows are taken in blocks
    // that stay in the cache while all sides are counted. Precondition: the weights are not bit planes.
    void weights_of_sides(const BitMatrix& matrix, const Subset& subset, std::span<const Side> sides, std::size_t& span,
                          Count* const* out);

    // The same as weights(), but counts rows, whatever their weight.
    void rows_of_class(const BitMatrix& matrix, const Subset& subset, std::size_t& span, Count* out);

    // out[j] = number of rows of the subset with column j.
    void rows(const BitMatrix& matrix, const Subset& subset, std::int32_t* out);

    // Return the number of rows of the subset, or of one class of it.
    std::size_t n_rows(const BitMatrix& matrix, const Subset& subset) const;
    std::size_t n_rows(const BitMatrix& matrix, const Subset& subset, std::int32_t class_index) const;

    // Return the weight of the rows of the subset that every tree misclassifies.
    Count conflicts(const BitMatrix& matrix, const Subset& subset);

    // Set `totals` to the weight of every class of the subset among the rows whose bit is set; bits[w] is that of word
    // w.
    void totals_among(const BitMatrix& matrix, const Subset& subset, const std::uint64_t* bits,
                      std::vector<Count>& totals);

  private:
    void count(const BitMatrix& matrix, WordList list, ColumnRange range, std::int32_t* out);
    std::size_t n_rows(const BitMatrix& matrix, const Subset& subset, const Span& span) const;
    const std::int32_t* counted(const BitMatrix& matrix, WordList list, ColumnRange range);
    const std::int32_t* counted(const BitMatrix& matrix, WordList list) {
        return counted(matrix, list, {0, matrix.n_columns});
    }
    void add_product(const std::int32_t* counts, Count factor, std::size_t n_columns, Count* out) const;
    template <class Mask>
    WordList part_of(WordList list, Mask mask);
    Count weight_among(const BitMatrix& matrix, const Subset& subset, const Span& span, const std::uint64_t* bits);
    WordList in_plane(const BitMatrix& matrix, std::size_t plane, WordList list);

    const Kernels& kernels_;
    std::span<const std::int64_t> class_weight_;
    Ticker& ticker_;
    std::vector<std::uint32_t> part_words_;
    std::vector<std::uint64_t> part_masks_;
    AlignedBuffer<std::int32_t> part_;
    AlignedBuffer<std::int32_t> span_counts_;
};

extern template class Counter<std::int32_t>;
extern template class Counter<std::int64_t>;

}  // namespace topk
