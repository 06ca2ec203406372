// Counting by popcount; a factor per span of rows that weigh the same.
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
WordList Counter<Count>::primary_rows(const BitMatrix& matrix, const Subset& subset) {
    primary_words_.clear();
    primary_masks_.clear();
    for (std::size_t i = 0; i < subset.words.size(); ++i) {
        if (const std::uint64_t mask = subset.masks[i] & matrix.primary[subset.words[i]]; mask != 0) {
            primary_words_.push_back(subset.words[i]);
            primary_masks_.push_back(mask);
        }
    }
    return {primary_words_.data(), primary_masks_.data(), primary_masks_.size()};
}

// Rows with weights are there several times, one of them the primary one; merged rows stand for 2^shift each.
template <class Count>
void Counter<Count>::rows(const BitMatrix& matrix, const Subset& subset, std::int32_t* out) {
    if (matrix.has_primary) {
        count(matrix, primary_rows(matrix, subset), out);
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
