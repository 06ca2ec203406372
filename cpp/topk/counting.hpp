// Class counts of every column on a subset: the search's only contact with the rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bit_matrix.hpp"
#include "kernels.hpp"
#include "memory.hpp"
#include "stop.hpp"

namespace topk {

// One per thread of execution (it has scratch space). Count is int32_t or int64_t, wide enough for the total weight.
template <class Count>
class Counter {
  public:
    Counter(const Kernels& kernels, std::span<const std::int64_t> class_weight, bool weighted, Ticker& ticker)
        : kernels_(kernels), class_weight_(class_weight), weighted_(weighted), ticker_(ticker) {}

    // out[j] = weight of the rows of the span that have column j, for all (padded) columns.
    void weights(const BitMatrix& matrix, const Subset& subset, const ClassSpan& span, Count* out);

    // out[j] = number of rows of the subset that have column j.
    void rows(const BitMatrix& matrix, const Subset& subset, std::int32_t* out);

    // Number of rows of the subset.
    std::size_t n_rows(const Subset& subset) const { return kernels_.count_rows(subset.list(), nullptr); }

    // Weight of the rows of the subset that every tree gets wrong.
    Count conflicts(const BitMatrix& matrix, const Subset& subset);

  private:
    void count(const BitMatrix& matrix, WordList list, std::int32_t* out);
    WordList in_plane(const BitMatrix& matrix, std::size_t plane, WordList list);

    const Kernels& kernels_;
    std::span<const std::int64_t> class_weight_;
    bool weighted_;
    Ticker& ticker_;
    std::vector<std::uint32_t> plane_words_;
    std::vector<std::uint64_t> plane_masks_;
    AlignedBuffer<std::int32_t> part_;
    AlignedBuffer<std::int32_t> plane_counts_;
};

extern template class Counter<std::int32_t>;
extern template class Counter<std::int64_t>;

}  // namespace topk
