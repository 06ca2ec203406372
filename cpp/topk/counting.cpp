// Counting by popcount; weights by bit planes and a factor per class.
#include "counting.hpp"

#include <algorithm>
#include <type_traits>

namespace topk {
namespace {

// Lists are counted in parts, so that even the largest one can be interrupted.
constexpr std::size_t kPartWork = std::size_t{1} << 22;

}  // namespace

template <class Count>
void Counter<Count>::count(const BitMatrix& matrix, WordList list, std::int32_t* out) {
    if (list.size * matrix.n_columns <= kPartWork) {
        ticker_.tick(list.size * matrix.n_columns);
        kernels_.count(matrix.bits.data(), matrix.n_columns, list, matrix.n_columns, out);
        return;
    }
    const std::size_t part_size = std::max<std::size_t>(kPartWork / matrix.n_columns, 1);
    const auto count_part = [&](std::size_t begin, std::int32_t* target) {
        const std::size_t size = std::min(part_size, list.size - begin);
        ticker_.tick(size * matrix.n_columns);
        kernels_.count(matrix.bits.data(), matrix.n_columns, {list.words + begin, list.masks + begin, size},
                       matrix.n_columns, target);
    };
    count_part(0, out);
    for (std::size_t begin = part_size; begin < list.size; begin += part_size) {
        std::int32_t* part = part_.ensure(matrix.n_columns);
        count_part(begin, part);
        for (std::size_t j = 0; j < matrix.n_columns; ++j) {
            out[j] += part[j];
        }
    }
}

template <class Count>
WordList Counter<Count>::in_plane(const BitMatrix& matrix, std::size_t plane, WordList list) {
    plane_words_.clear();
    plane_masks_.clear();
    const std::uint64_t* bits = matrix.planes.data() + plane * matrix.n_words;
    for (std::size_t i = 0; i < list.size; ++i) {
        if (const std::uint64_t mask = list.masks[i] & bits[list.words[i]]; mask != 0) {
            plane_words_.push_back(list.words[i]);
            plane_masks_.push_back(mask);
        }
    }
    return {plane_words_.data(), plane_masks_.data(), plane_masks_.size()};
}

template <class Count>
void Counter<Count>::weights(const BitMatrix& matrix, const Subset& subset, const ClassSpan& span, Count* out) {
    if constexpr (std::is_same_v<Count, std::int32_t>) {
        if (!weighted_) {
            count(matrix, subset.list(span), out);
            return;
        }
    }
    const std::int64_t class_weight = class_weight_[static_cast<std::size_t>(span.class_index)];
    std::int32_t* counts = plane_counts_.ensure(matrix.n_columns);
    std::fill_n(out, matrix.n_columns, Count{0});
    for (std::size_t p = 0; p < std::max<std::size_t>(matrix.n_planes, 1); ++p) {
        const WordList list = matrix.n_planes == 0 ? subset.list(span) : in_plane(matrix, p, subset.list(span));
        if (list.size == 0) {
            continue;
        }
        count(matrix, list, counts);
        const auto factor = static_cast<Count>(class_weight << p);
        for (std::size_t j = 0; j < matrix.n_columns; ++j) {
            out[j] += static_cast<Count>(counts[j]) * factor;
        }
    }
}

template <class Count>
void Counter<Count>::rows(const BitMatrix& matrix, const Subset& subset, std::int32_t* out) {
    count(matrix, subset.list(), out);
}

template <class Count>
Count Counter<Count>::conflicts(const BitMatrix& matrix, const Subset& subset) {
    if (!matrix.has_conflicts) {
        return 0;
    }
    Count sum = 0;
    for (const ClassSpan& span : subset.spans) {
        const auto factor = static_cast<Count>(class_weight_[static_cast<std::size_t>(span.class_index)]);
        if (matrix.n_planes == 0) {
            sum += static_cast<Count>(kernels_.count_rows(subset.list(span), matrix.conflicts.data())) * factor;
        }
        for (std::size_t p = 0; p < matrix.n_planes; ++p) {
            const WordList list = in_plane(matrix, p, subset.list(span));
            sum += (static_cast<Count>(kernels_.count_rows(list, matrix.conflicts.data())) * factor) << p;
        }
    }
    return sum;
}

template class Counter<std::int32_t>;
template class Counter<std::int64_t>;

}  // namespace topk
