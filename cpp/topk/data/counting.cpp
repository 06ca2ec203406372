// Count by popcount, times a factor for each span or bit plane of rows with the same weight.
#include "topk/data/counting.hpp"

#include <algorithm>
#include <type_traits>

namespace topk {
namespace {

// Lists are counted in parts, so that a search can be stopped within the largest one.
constexpr std::size_t kPartWork = std::size_t{1} << 22;

// A block of rows that stays in the second-level cache.
constexpr std::size_t kBlockBytes = std::size_t{1} << 19;

}  // namespace

template <class Count>
void Counter<Count>::count(const BitMatrix& matrix, WordList list, ColumnRange range, std::int32_t* out) {
    const std::uint64_t* bits = matrix.bits.data() + range.begin;
    if (list.size * range.size() <= kPartWork) {
        ticker_.tick(list.size * range.size());
        kernels_.count(bits, matrix.n_columns, list, range.size(), out);
        return;
    }
    const std::size_t part_size = std::max<std::size_t>(kPartWork / range.size(), 1);
    const auto count_part = [&](std::size_t begin, std::int32_t* target) {
        const std::size_t size = std::min(part_size, list.size - begin);
        ticker_.tick(size * range.size());
        kernels_.count(bits, matrix.n_columns, {list.words + begin, list.masks + begin, size}, range.size(), target);
    };
    count_part(0, out);
    for (std::size_t begin = part_size; begin < list.size; begin += part_size) {
        std::int32_t* part = part_.ensure(range.size());
        count_part(begin, part);
        for (std::size_t j = 0; j < range.size(); ++j) {
            out[j] += part[j];
        }
    }
}

// Return the rows of the list that are in mask(word).
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

template <class Count>
void Counter<Count>::add_product(const std::int32_t* counts, Count factor, std::size_t n_columns, Count* out) const {
    if constexpr (std::is_same_v<Count, std::int32_t>) {
        kernels_.add_product(counts, factor, n_columns, out);
    } else {
        for (std::size_t j = 0; j < n_columns; ++j) {
            out[j] += counts[j] * factor;
        }
    }
}

template <class Count>
void Counter<Count>::weights(const BitMatrix& matrix, const Subset& subset, std::span<const ColumnRange> ranges,
                             std::size_t& span, Count* out) {
    const std::int32_t class_index = subset.spans[span].class_index;
    const std::int64_t class_weight = class_weight_[static_cast<std::size_t>(class_index)];
    bool first = true;
    const auto add = [&](WordList list, int shift) {
        const auto factor = static_cast<Count>(class_weight << shift);
        for (const ColumnRange range : ranges) {
            Count* target = out + range.begin;
            if constexpr (std::is_same_v<Count, std::int32_t>) {
                if (first && factor == 1) {
                    count(matrix, list, range, target);
                    continue;
                }
            }
            if (first) {
                std::fill_n(target, range.size(), Count{0});
            }
            add_product(counted(matrix, list, range), factor, range.size(), target);
        }
        first = false;
    };
    for (; span < subset.spans.size() && subset.spans[span].class_index == class_index; ++span) {
        const WordList list = subset.list(subset.spans[span]);
        if (matrix.n_planes == 0) {
            add(list, subset.spans[span].shift);
        }
        for (std::size_t p = 0; p < matrix.n_planes; ++p) {
            add(in_plane(matrix, p, list), static_cast<int>(p));
        }
    }
}

template <class Count>
WordList Counter<Count>::in_plane(const BitMatrix& matrix, std::size_t plane, WordList list) {
    const std::uint64_t* bits = matrix.planes.data() + plane * matrix.n_words;
    return part_of(list, [&](std::uint32_t word) { return bits[word]; });
}

template <class Count>
const std::int32_t* Counter<Count>::counted(const BitMatrix& matrix, WordList list, ColumnRange range) {
    std::int32_t* counts = span_counts_.ensure(range.size());
    count(matrix, list, range, counts);
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
                const std::uint64_t flip = sides[i].value ? 0 : ~std::uint64_t{0};
                const WordList part =
                    part_of(block, [&](std::uint32_t word) { return sides[i].column.word(word) ^ flip; });
                add_product(counted(matrix, part), factor, matrix.n_columns, out[i]);
            }
        }
    }
}

template <class Count>
void Counter<Count>::rows_of_class(const BitMatrix& matrix, const Subset& subset, std::size_t& span, Count* out) {
    std::fill_n(out, matrix.n_columns, Count{0});
    const std::int32_t class_index = subset.spans[span].class_index;
    for (; span < subset.spans.size() && subset.spans[span].class_index == class_index; ++span) {
        WordList list = subset.list(subset.spans[span]);
        if (matrix.has_primary) {
            list = part_of(list, [&](std::uint32_t word) { return matrix.primary[word]; });
        }
        const int shift = matrix.has_primary ? 0 : subset.spans[span].shift;
        const std::int32_t* counts = counted(matrix, list);
        for (std::size_t j = 0; j < matrix.n_columns; ++j) {
            out[j] += static_cast<Count>(counts[j]) << shift;
        }
    }
}

// Rows with weights are stored several times, one copy being the primary one; merged rows stand for 2^shift rows each.
template <class Count>
void Counter<Count>::rows(const BitMatrix& matrix, const Subset& subset, std::int32_t* out) {
    if (matrix.has_primary) {
        const WordList list = part_of(subset.list(), [&](std::uint32_t word) { return matrix.primary[word]; });
        count(matrix, list, {0, matrix.n_columns}, out);
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
std::size_t Counter<Count>::n_rows(const BitMatrix& matrix, const Subset& subset, const Span& span) const {
    return matrix.has_primary ? kernels_.count_rows(subset.list(span), matrix.primary.data())
                              : kernels_.count_rows(subset.list(span), nullptr) << span.shift;
}

template <class Count>
std::size_t Counter<Count>::n_rows(const BitMatrix& matrix, const Subset& subset) const {
    std::size_t n = 0;
    for (const Span& span : subset.spans) {
        n += n_rows(matrix, subset, span);
    }
    return n;
}

template <class Count>
std::size_t Counter<Count>::n_rows(const BitMatrix& matrix, const Subset& subset, std::int32_t class_index) const {
    std::size_t n = 0;
    for (const Span& span : subset.spans) {
        n += span.class_index == class_index ? n_rows(matrix, subset, span) : 0;
    }
    return n;
}

template <class Count>
Count Counter<Count>::weight_among(const BitMatrix& matrix, const Subset& subset, const Span& span,
                                   const std::uint64_t* bits) {
    const std::int64_t class_weight = class_weight_[static_cast<std::size_t>(span.class_index)];
    const auto weight = [&](WordList list, int shift) {
        return static_cast<Count>(kernels_.count_rows(list, bits)) * static_cast<Count>(class_weight << shift);
    };
    if (matrix.n_planes == 0) {
        return weight(subset.list(span), span.shift);
    }
    Count sum = 0;
    for (std::size_t p = 0; p < matrix.n_planes; ++p) {
        sum += weight(in_plane(matrix, p, subset.list(span)), static_cast<int>(p));
    }
    return sum;
}

template <class Count>
Count Counter<Count>::conflicts(const BitMatrix& matrix, const Subset& subset) {
    Count sum = 0;
    for (std::size_t s = 0; s < subset.spans.size() && matrix.has_conflicts; ++s) {
        sum += weight_among(matrix, subset, subset.spans[s], matrix.conflicts.data());
    }
    return sum;
}

template <class Count>
void Counter<Count>::totals_among(const BitMatrix& matrix, const Subset& subset, const std::uint64_t* bits,
                                  std::vector<Count>& totals) {
    totals.clear();
    for (std::size_t s = 0; s < subset.spans.size(); ++s) {
        if (s == 0 || subset.spans[s].class_index != subset.spans[s - 1].class_index) {
            totals.push_back(0);
        }
        totals.back() += weight_among(matrix, subset, subset.spans[s], bits);
    }
}

template class Counter<std::int32_t>;
template class Counter<std::int64_t>;

}  // namespace topk
