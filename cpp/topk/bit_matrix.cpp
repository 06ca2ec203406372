// Building, splitting and compacting bit matrices.
#include "bit_matrix.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "mix.hpp"

namespace topk {
namespace {

constexpr std::size_t kWordBits = 64;

std::uint64_t low_bits(std::size_t n) { return n >= kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }

// Where each row goes: rows in class order, every class from a new word on.
struct RowOrder {
    static constexpr std::uint32_t kPadding = UINT32_MAX;
    std::vector<std::uint32_t> row_at;     // per position: a row or kPadding
    std::vector<std::size_t> class_sizes;  // in rows
    std::size_t n_words = 0;
};

RowOrder sort_by_class(const Data& data) {
    RowOrder order;
    order.class_sizes.assign(static_cast<std::size_t>(data.n_classes), 0);
    for (const std::int32_t c : data.classes) {
        ++order.class_sizes[static_cast<std::size_t>(c)];
    }
    std::vector<std::size_t> next;
    for (const std::size_t size : order.class_sizes) {
        next.push_back(order.n_words * kWordBits);
        order.n_words += (size + kWordBits - 1) / kWordBits;
    }
    order.row_at.assign(order.n_words * kWordBits, RowOrder::kPadding);
    for (std::size_t row = 0; row < data.n_rows; ++row) {
        order.row_at[next[static_cast<std::size_t>(data.classes[row])]++] = static_cast<std::uint32_t>(row);
    }
    return order;
}

// Hacker's Delight 7-3, for 64 x 64 bits: afterwards bit i of m[j] is what bit j of m[i] was.
void transpose(std::uint64_t m[kWordBits]) {
    std::uint64_t mask = 0x00000000ffffffffU;
    for (std::size_t j = 32; j != 0; j >>= 1, mask ^= mask << j) {
        for (std::size_t k = 0; k < kWordBits; k = (k + j + 1) & ~j) {
            const std::uint64_t t = ((m[k] >> j) ^ m[k + j]) & mask;
            m[k] ^= t << j;
            m[k + j] ^= t;
        }
    }
}

void fill_bits(const Data& data, const RowOrder& order, Ticker& ticker, BitMatrix& matrix) {
    const std::size_t words_per_row = (data.n_columns + kWordBits - 1) / kWordBits;
    matrix.bits.ensure(matrix.n_words * matrix.n_columns);
    std::uint64_t block[kWordBits];
    for (std::size_t w = 0; w < matrix.n_words; ++w) {
        ticker.tick(16 * matrix.n_columns);
        const std::uint32_t* rows = order.row_at.data() + w * kWordBits;
        std::uint64_t* out = matrix.bits.data() + w * matrix.n_columns;
        for (std::size_t g = 0; g < words_per_row; ++g) {
            for (std::size_t r = 0; r < kWordBits; ++r) {
                block[r] = rows[r] == RowOrder::kPadding ? 0 : data.rows[rows[r] * words_per_row + g];
            }
            transpose(block);
            const std::size_t n = std::min(kWordBits, data.n_columns - g * kWordBits);
            std::memcpy(out + g * kWordBits, block, n * sizeof(std::uint64_t));
        }
        std::fill(out + data.n_columns, out + matrix.n_columns, 0);
    }
}

void fill_keys(BitMatrix& matrix) {
    const std::size_t n = matrix.n_words * kWordBits;
    matrix.key_low.ensure(n);
    matrix.key_high.ensure(n);
    for (std::size_t i = 0; i < n; ++i) {
        matrix.key_low[i] = mix(2 * i);
        matrix.key_high[i] = mix(2 * i + 1);
    }
}

void fill_planes(const Data& data, const RowOrder& order, BitMatrix& matrix) {
    matrix.n_planes = 0;
    if (data.row_weight.empty()) {
        return;
    }
    std::int64_t all_bits = 0;
    for (const std::int64_t weight : data.row_weight) {
        all_bits |= weight;
    }
    matrix.n_planes = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(all_bits)));
    matrix.planes.ensure(matrix.n_planes * matrix.n_words);
    std::fill_n(matrix.planes.data(), matrix.n_planes * matrix.n_words, 0);
    for (std::size_t i = 0; i < order.row_at.size(); ++i) {
        if (order.row_at[i] == RowOrder::kPadding) {
            continue;
        }
        const auto weight = static_cast<std::uint64_t>(data.row_weight[order.row_at[i]]);
        for (std::size_t p = 0; p < matrix.n_planes; ++p) {
            matrix.planes[p * matrix.n_words + i / kWordBits] |= ((weight >> p) & 1) << (i % kWordBits);
        }
    }
}

// Groups of rows with equal columns: group_of[row] is the first row of its group.
std::vector<std::uint32_t> group_equal_rows(const Data& data, Ticker& ticker) {
    const std::size_t words_per_row = (data.n_columns + kWordBits - 1) / kWordBits;
    const std::size_t n_slots = std::bit_ceil(2 * data.n_rows);
    constexpr std::uint32_t kEmpty = UINT32_MAX;
    std::vector<std::uint32_t> slots(n_slots, kEmpty);
    std::vector<std::uint32_t> group_of(data.n_rows);
    for (std::size_t row = 0; row < data.n_rows; ++row) {
        ticker.tick(8 * words_per_row);
        const std::uint64_t* words = data.rows.data() + row * words_per_row;
        std::uint64_t hash = 0;
        for (std::size_t g = 0; g < words_per_row; ++g) {
            hash = mix(hash ^ words[g]);
        }
        std::size_t slot = hash & (n_slots - 1);
        while (slots[slot] != kEmpty && words_per_row > 0 &&
               std::memcmp(data.rows.data() + slots[slot] * words_per_row, words, words_per_row * 8) != 0) {
            slot = (slot + 1) & (n_slots - 1);
        }
        if (slots[slot] == kEmpty) {
            slots[slot] = static_cast<std::uint32_t>(row);
        }
        group_of[row] = slots[slot];
    }
    return group_of;
}

struct GroupRow {
    std::uint32_t group;
    std::int32_t class_index;
    std::uint32_t row;
};

// The rows of every group that are not of its heaviest class.
std::vector<bool> conflicting_rows(const Data& data, Ticker& ticker) {
    const std::vector<std::uint32_t> group_of = group_equal_rows(data, ticker);
    std::vector<std::uint32_t> group_size(data.n_rows, 0);
    for (const std::uint32_t group : group_of) {
        ++group_size[group];
    }
    std::vector<GroupRow> rows;
    for (std::size_t row = 0; row < data.n_rows; ++row) {
        if (group_size[group_of[row]] > 1) {
            rows.push_back({group_of[row], data.classes[row], static_cast<std::uint32_t>(row)});
        }
    }
    std::sort(rows.begin(), rows.end(), [](const GroupRow& a, const GroupRow& b) {
        return a.group != b.group ? a.group < b.group : a.class_index < b.class_index;
    });
    std::vector<bool> conflicting(data.n_rows, false);
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
        std::int64_t heaviest = -1;
        std::int32_t heaviest_class = -1;
        for (end = begin; end < rows.size() && rows[end].group == rows[begin].group;) {
            const std::int32_t c = rows[end].class_index;
            std::int64_t weight = 0;
            for (; end < rows.size() && rows[end].group == rows[begin].group && rows[end].class_index == c; ++end) {
                weight += data.row_weight.empty() ? 1 : data.row_weight[rows[end].row];
            }
            weight *= data.class_weight[static_cast<std::size_t>(c)];
            if (weight > heaviest) {
                heaviest = weight;
                heaviest_class = c;
            }
        }
        for (std::size_t i = begin; i < end; ++i) {
            conflicting[rows[i].row] = rows[i].class_index != heaviest_class;
        }
    }
    return conflicting;
}

void fill_conflicts(const Data& data, const RowOrder& order, Ticker& ticker, BitMatrix& matrix) {
    const std::vector<bool> conflicting = conflicting_rows(data, ticker);
    matrix.conflicts.ensure(matrix.n_words);
    std::fill_n(matrix.conflicts.data(), matrix.n_words, 0);
    matrix.has_conflicts = false;
    for (std::size_t i = 0; i < order.row_at.size(); ++i) {
        if (order.row_at[i] != RowOrder::kPadding && conflicting[order.row_at[i]]) {
            matrix.conflicts[i / kWordBits] |= std::uint64_t{1} << (i % kWordBits);
            matrix.has_conflicts = true;
        }
    }
}

// Append the words of one class with `n_rows` rows to a subset that holds every row of a dense matrix.
void append_class(std::int32_t class_index, std::size_t n_rows, Subset& all) {
    if (n_rows == 0) {
        return;
    }
    const std::size_t first = all.words.size();
    for (std::size_t left = n_rows; left > 0; left -= std::min(left, kWordBits)) {
        all.words.push_back(static_cast<std::uint32_t>(all.words.size()));
        all.masks.push_back(low_bits(left));
    }
    all.spans.push_back({class_index, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(all.words.size())});
}

void clear(Subset& subset) {
    subset.words.clear();
    subset.masks.clear();
    subset.spans.clear();
}

std::size_t padded(std::size_t n_columns) {
    return (std::max<std::size_t>(n_columns, 1) + kColumnPadding - 1) / kColumnPadding * kColumnPadding;
}

}  // namespace

void build_matrix(const Data& data, MatrixExtras extras, Ticker& ticker, BitMatrix& matrix, Subset& all) {
    const RowOrder order = sort_by_class(data);
    matrix.n_columns = padded(data.n_columns);
    matrix.n_words = order.n_words;
    fill_bits(data, order, ticker, matrix);
    fill_planes(data, order, matrix);
    matrix.has_keys = extras.keys;
    if (extras.keys) {
        fill_keys(matrix);
    }
    matrix.has_conflicts = false;
    if (extras.conflicts) {
        fill_conflicts(data, order, ticker, matrix);
    }
    clear(all);
    for (std::size_t c = 0; c < order.class_sizes.size(); ++c) {
        append_class(static_cast<std::int32_t>(c), order.class_sizes[c], all);
    }
}

void split(const BitMatrix& matrix, const Subset& subset, std::size_t column, bool side, Subset& out) {
    out.words.resize(subset.words.size());
    out.masks.resize(subset.masks.size());
    out.spans.clear();
    const std::uint64_t* bits = matrix.bits.data() + column;
    const std::uint64_t flip = side ? 0 : ~std::uint64_t{0};
    std::uint32_t n = 0;
    for (const ClassSpan& span : subset.spans) {
        const std::uint32_t first = n;
        for (std::uint32_t i = span.begin; i < span.end; ++i) {
            const std::uint64_t mask = subset.masks[i] & (bits[subset.words[i] * matrix.n_columns] ^ flip);
            out.words[n] = subset.words[i];
            out.masks[n] = mask;
            n += mask != 0 ? 1 : 0;
        }
        if (n > first) {
            out.spans.push_back({span.class_index, first, n});
        }
    }
    out.words.resize(n);
    out.masks.resize(n);
}

namespace {

// Rows of a class are moved together: the next free position, as a word of the target and a bit in it.
class Target {
  public:
    explicit Target(std::size_t word) : word_(word) {}
    std::size_t word() const { return word_; }
    unsigned bit() const { return bit_; }
    void advance(unsigned n) {
        word_ += (bit_ + n) / kWordBits;
        bit_ = (bit_ + n) % kWordBits;
    }

  private:
    std::size_t word_;
    unsigned bit_ = 0;
};

void compact_word(const BitMatrix& matrix, std::uint32_t from, std::uint64_t mask, const Target& to,
                  const Kernels& kernels, BitMatrix& out) {
    // What overflows goes to the next word; if nothing does, out_high is not touched.
    const bool last = to.word() + 1 == out.n_words;
    std::uint64_t* low = out.bits.data() + to.word() * out.n_columns;
    kernels.compress(matrix.word(from), mask, to.bit(), matrix.n_columns, low, last ? low : low + out.n_columns);
    const auto single = [&](const std::uint64_t* in, std::uint64_t* target) {
        kernels.compress(in + from, mask, to.bit(), 1, target + to.word(), target + to.word() + (last ? 0 : 1));
    };
    for (std::size_t p = 0; p < matrix.n_planes; ++p) {
        single(matrix.planes.data() + p * matrix.n_words, out.planes.data() + p * out.n_words);
    }
    if (matrix.has_conflicts) {
        single(matrix.conflicts.data(), out.conflicts.data());
    }
    if (!matrix.has_keys) {
        return;
    }
    std::size_t position = to.word() * kWordBits + to.bit();
    for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1, ++position) {
        const std::size_t row = from * kWordBits + static_cast<std::size_t>(std::countr_zero(rest));
        out.key_low[position] = matrix.key_low[row];
        out.key_high[position] = matrix.key_high[row];
    }
}

}  // namespace

void compact(const BitMatrix& matrix, const Subset& subset, const Kernels& kernels, BitMatrix& out, Subset& all) {
    clear(all);
    for (const ClassSpan& span : subset.spans) {
        const std::size_t n = kernels.count_rows(subset.list(span), nullptr);
        append_class(span.class_index, n, all);
    }
    out.n_words = all.words.size();
    out.n_columns = matrix.n_columns;
    out.n_planes = matrix.n_planes;
    out.has_conflicts = matrix.has_conflicts;
    const auto zeros = [](AlignedBuffer<std::uint64_t>& buffer, std::size_t size) {
        std::fill_n(buffer.ensure(size), size, 0);
    };
    zeros(out.bits, out.n_words * out.n_columns);
    zeros(out.planes, out.n_words * out.n_planes);
    zeros(out.conflicts, out.n_words);
    out.has_keys = matrix.has_keys;
    if (out.has_keys) {
        zeros(out.key_low, out.n_words * kWordBits);
        zeros(out.key_high, out.n_words * kWordBits);
    }
    for (std::size_t s = 0; s < subset.spans.size(); ++s) {
        Target to(all.spans[s].begin);
        for (std::uint32_t i = subset.spans[s].begin; i < subset.spans[s].end; ++i) {
            compact_word(matrix, subset.words[i], subset.masks[i], to, kernels, out);
            to.advance(static_cast<unsigned>(std::popcount(subset.masks[i])));
        }
    }
}

}  // namespace topk
