// Counting by popcount; a factor per span of rows that weigh the same.
#include "counting.hpp"

#include <algorithm>
#include <type_traits>

namespace topk {
namespace {

// Lists are counted in parts, so that even the largest one can be interrupted.
constexpr std::size_t kPartWork = std::size_t{1} << 22;

// A block of rows that stays in the second-level cache.
constexpr std::size_t kBlockBytes = std::size_t{1} << 19;

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
void Counter<Count>::weights(const BitMatrix& matrix, const Subset& subset, std::size_t& span, Count* out) {
    const std::int32_t class_index = subset.spans[span].class_index;
    const std::int64_t class_weight = class_weight_[static_cast<std::size_t>(class_index)];
    for (bool first = true; span < subset.spans.size() && subset.spans[span].class_index == class_index;
         ++span, first = false) {
        const WordList list = subset.list(subset.spans[span]);
        const auto factor = static_cast<Count>(class_weight << subset.spans[span].shift);
        if constexpr (std::is_same_v<Count, std::int32_t>) {
            if (first && factor == 1) {
                count(matrix, list, out);
                continue;
            }
        }
        const std::int32_t* counts = counted(matrix, list);
        for (std::size_t j = 0; j < matrix.n_columns; ++j) {
            const Count weight = static_cast<Count>(counts[j]) * factor;
            out[j] = first ? weight : out[j] + weight;
        }
    }
}

template <class Count>
const std::int32_t* Counter<Count>::counted(const BitMatrix& matrix, WordList list) {
    std::int32_t* counts = span_counts_.ensure(matrix.n_columns);
    count(matrix, list, counts);
    return counts;
}

template <class Count>
void Counter<Count>::weights_of_sides(const BitMatrix& matrix, const Subset& subset, std::span<const Side> sides,
                                      std::size_t& span, Count* const* out) {
    const std::int32_t class_index = subset.spans[span].class_index;
    const std::int64_t class_weight = class_weight_[static_cast<std::size_t>(class_index)];
    const std::size_t block_size = std::max<std::size_t>(kBlockBytes / (sizeof(std::uint64_t) * matrix.n_columns), 16);
    for (std::size_t i = 0; i < sides.size(); ++i) {
        std::fill_n(out[i], matrix.n_columns, Count{0});
    }
    for (; span < subset.spans.size() && subset.spans[span].class_index == class_index; ++span) {
        const WordList list = subset.list(subset.spans[span]);
        const auto factor = static_cast<Count>(class_weight << subset.spans[span].shift);
        for (std::size_t begin = 0; begin < list.size; begin += block_size) {
            const std::size_t size = std::min(block_size, list.size - begin);
            const WordList block = {list.words + begin, list.masks + begin, size};
            for (std::size_t i = 0; i < sides.size(); ++i) {
                const std::uint64_t* bits = matrix.bits.data() + sides[i].column;
                const std::uint64_t flip = sides[i].value ? 0 : ~std::uint64_t{0};
                const WordList part =
                    part_of(block, [&](std::uint32_t word) { return bits[word * matrix.n_columns] ^ flip; });
                const std::int32_t* counts = counted(matrix, part);
                for (std::size_t j = 0; j < matrix.n_columns; ++j) {
                    out[i][j] += static_cast<Count>(counts[j]) * factor;
                }
            }
        }
    }
}

// The rows of the list that are in mask(word).
template <class Count>
template <class Mask>
WordList Counter<Count>::part_of(WordList list, Mask mask) {
    part_words_.resize(list.size);
    part_masks_.resize(list.size);
    std::size_t n = 0;
    for (std::size_t i = 0; i < list.size; ++i) {
        const std::uint64_t rows = list.masks[i] & mask(list.words[i]);
        part_words_[n] = list.words[i];
        part_masks_[n] = rows;
        n += rows != 0 ? 1 : 0;
    }
    return {part_words_.data(), part_masks_.data(), n};
}

// Rows with weights are there several times, one of them the primary one; merged rows stand for 2^shift each.
template <class Count>
void Counter<Count>::rows(const BitMatrix& matrix, const Subset& subset, std::int32_t* out) {
    if (matrix.has_primary) {
        count(matrix, part_of(subset.list(), [&](std::uint32_t word) { return matrix.primary[word]; }), out);
        return;
    }
    std::fill_n(out, matrix.n_columns, 0);
    for (const Span& span : subset.spans) {
        const std::int32_t* counts = counted(matrix, subset.list(span));
        for (std::size_t j = 0; j < matrix.n_columns; ++j) {
            out[j] += counts[j] << span.shift;
        }
    }
}

template <class Count>
std::size_t Counter<Count>::n_rows(const BitMatrix& matrix, const Subset& subset) const {
    if (matrix.has_primary) {
        return kernels_.count_rows(subset.list(), matrix.primary.data());
    }
    std::size_t n = 0;
    for (const Span& span : subset.spans) {
        n += kernels_.count_rows(subset.list(span), nullptr) << span.shift;
    }
    return n;
}

template <class Count>
Count Counter<Count>::conflicts(const BitMatrix& matrix, const Subset& subset) {
    if (!matrix.has_conflicts) {
        return 0;
    }
    Count sum = 0;
    for (const Span& span : subset.spans) {
        const std::int64_t weight = class_weight_[static_cast<std::size_t>(span.class_index)] << span.shift;
        sum += static_cast<Count>(kernels_.count_rows(subset.list(span), matrix.conflicts.data())) *
               static_cast<Count>(weight);
    }
    return sum;
}

template class Counter<std::int32_t>;
template class Counter<std::int64_t>;

}  // namespace topk
