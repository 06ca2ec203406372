// Build, split and compact bit matrices.
#include "topk/data/bit_matrix.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "topk/base/prefetch.hpp"
#include "topk/data/duplicates.hpp"
#include "topk/data/row_clusters.hpp"
#include "topk/data/row_source.hpp"

namespace topk {
namespace {

constexpr std::size_t kWordBits = 64;
constexpr std::size_t kMaxCopies = 3;    // per row, on average; beyond that weights are bit planes
constexpr std::uint32_t kPrefetch = 16;  // words in advance
constexpr std::size_t kRowWork = 8;      // of one step of a row, in the units of Ticker::tick
constexpr std::size_t kCacheBytes = std::size_t{1}
                                    << 20;  // of the second-level cache that are likely to be left for a matrix

std::uint64_t low_bits(std::size_t n) { return n >= kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }

// Rows of one class and one weight 2^shift. A block starts a new word.
struct Block {
    std::int32_t class_index;
    int shift;
    std::size_t n_rows;
};

// The order of the rows in the matrix: by class, weight and cluster.
struct RowOrder {
    static constexpr std::uint32_t kPadding = UINT32_MAX;
    AlignedBuffer<std::uint32_t> row_at;  // per position in the matrix: a row or kPadding
    std::vector<Block> blocks;
    std::size_t n_words = 0;
    std::size_t n_positions() const { return n_words * kWordBits; }
};

std::size_t words_for(std::size_t n_rows) { return (n_rows + kWordBits - 1) / kWordBits; }

// Facts about the rows that determine their order.
struct RowFacts {
    const Data& data;
    Clusters clusters;
    Duplicates duplicates;
    bool in_planes;  // weights are bit planes

    // A row is stored once for every bit of this number.
    std::uint64_t copies(std::size_t row) const {
        if (in_planes) {
            return data.row_weight[row] > 0 ? 1 : 0;
        }
        if (!data.row_weight.empty()) {
            return static_cast<std::uint64_t>(data.row_weight[row]);
        }
        return duplicates.stands_for.empty() ? 1 : duplicates.stands_for[row];
    }
    std::size_t cluster(std::size_t row) const { return clusters.of_row.empty() ? 0 : clusters.of_row[row]; }
};

bool needs_planes(const Data& data) {
    std::size_t n_copies = 0;
    std::size_t n_rows = 0;
    for (const std::int64_t weight : data.row_weight) {
        n_copies += static_cast<std::size_t>(std::popcount(static_cast<std::uint64_t>(weight)));
        n_rows += weight > 0 ? 1 : 0;
    }
    return n_copies > kMaxCopies * n_rows;
}

// A counting sort.
RowOrder sort_rows(const RowFacts& facts, Ticker& ticker) {
    const Data& data = facts.data;
    std::uint64_t all_bits = 1;
    for_each(data.n_rows, kRowWork, ticker, [&](std::size_t row) { all_bits |= facts.copies(row); });
    const auto n_shifts = static_cast<std::size_t>(std::bit_width(all_bits));
    const auto bin = [&](std::size_t row, std::size_t shift) {
        const auto c = static_cast<std::size_t>(data.classes[row]);
        return (c * n_shifts + shift) * facts.clusters.n + facts.cluster(row);
    };
    const auto for_copies = [&](auto visit) {
        for_each(data.n_rows, kRowWork, ticker, [&](std::size_t row) {
            for (std::uint64_t rest = facts.copies(row); rest != 0; rest &= rest - 1) {
                visit(row, bin(row, static_cast<std::size_t>(std::countr_zero(rest))));
            }
        });
    };
    std::vector<std::size_t> next(static_cast<std::size_t>(data.n_classes) * n_shifts * facts.clusters.n, 0);
    for_copies([&](std::size_t, std::size_t at) { ++next[at]; });
    RowOrder order;
    for (std::size_t first = 0; first < next.size(); first += facts.clusters.n) {
        std::size_t position = order.n_words * kWordBits;
        const std::size_t begin = position;
        for (std::size_t at = first; at < first + facts.clusters.n; ++at) {
            position += std::exchange(next[at], position);
        }
        if (position > begin) {
            const std::size_t pair = first / facts.clusters.n;
            order.blocks.push_back(
                {static_cast<std::int32_t>(pair / n_shifts), static_cast<int>(pair % n_shifts), position - begin});
            order.n_words += words_for(position - begin);
        }
    }
    std::fill_n(order.row_at.ensure(order.n_positions()), order.n_positions(), RowOrder::kPadding);
    for_copies([&](std::size_t row, std::size_t at) { order.row_at[next[at]++] = static_cast<std::uint32_t>(row); });
    return order;
}

// Read the rows of word w into blocks[64 columns][row], a word of 64 columns each; padding rows are zero.
void read_rows(const RowSource& source, const RowOrder& order, std::size_t w, std::vector<std::uint64_t>& row,
               AlignedBuffer<std::uint64_t>& blocks) {
    for (std::size_t r = 0; r < kWordBits; ++r) {
        const std::size_t at = w * kWordBits + r;
        const std::uint32_t from = order.row_at[at];
        if (const std::uint32_t soon = order.row_at[std::min(at + kPrefetch, order.n_positions() - 1)];
            soon != RowOrder::kPadding) {
            source.prefetch(soon);
        }
        if (from == RowOrder::kPadding) {
            std::fill(row.begin(), row.end(), 0);
        } else {
            source.read(from, row.data());
        }
        for (std::size_t g = 0; g < row.size(); ++g) {
            blocks[g * kWordBits + r] = row[g];
        }
    }
}

// Write the bits of the caller's columns to the words [begin, end) of the matrix, and zeros behind those of the grid.
void fill_words(const RowSource& source, std::size_t n_used, const RowOrder& order, std::size_t begin, std::size_t end,
                const Kernels& kernels, Ticker& ticker, BitMatrix& matrix) {
    const std::size_t words_per_row = matrix.n_bits == 0 ? 0 : source.words_per_row();
    std::vector<std::uint64_t> row(words_per_row);
    AlignedBuffer<std::uint64_t> blocks;
    blocks.ensure(words_per_row * kWordBits);
    for (std::size_t w = begin; w < end; ++w) {
        ticker.tick(4 * matrix.n_bits + kWordBits);
        std::uint64_t* out = matrix.bits.data() + w * matrix.n_columns;
        std::fill(out + n_used, out + matrix.n_columns, 0);
        if (words_per_row == 0) {
            continue;
        }
        read_rows(source, order, w, row, blocks);
        for (std::size_t g = 0; g < words_per_row; ++g) {
            kernels.transpose(blocks.data() + g * kWordBits);  // blocks[column] is now a word of 64 rows
        }
        if (matrix.n_bits == source.n_stored()) {
            std::copy_n(blocks.data(), matrix.n_bits, out);
        } else {
            for (std::size_t j = 0; j < matrix.n_bits; ++j) {
                out[j] = blocks[source.position(j)];
            }
        }
    }
}

// `n_used`: the caller's columns and those of the grid, which is filled later.
void fill_bits(const RowSource& source, std::size_t n_used, const RowOrder& order, const Kernels& kernels, Tasks& tasks,
               Ticker& ticker, BitMatrix& matrix) {
    constexpr std::size_t kWordsAtOnce = 512;
    matrix.bits.ensure(matrix.n_words * matrix.n_columns);
    tasks.run((matrix.n_words + kWordsAtOnce - 1) / kWordsAtOnce, ticker, [&](std::size_t part, Ticker& own) {
        const std::size_t begin = part * kWordsAtOnce;
        const std::size_t end = std::min(begin + kWordsAtOnce, matrix.n_words);
        fill_words(source, n_used, order, begin, end, kernels, own, matrix);
    });
}

// Set the bit of every position whose row and shift are `wanted`. Returns whether there is one.
template <class Wanted>
bool fill_marks(const RowOrder& order, Wanted wanted, Ticker& ticker, AlignedBuffer<std::uint64_t>& out) {
    std::fill_n(out.ensure(order.n_words), order.n_words, 0);
    bool any = false;
    std::size_t begin = 0;
    for (const Block& block : order.blocks) {
        for_each(block.n_rows, kRowWork, ticker, [&](std::size_t r) {
            if (const std::size_t i = begin + r; wanted(order.row_at[i], block.shift)) {
                out[i / kWordBits] |= std::uint64_t{1} << (i % kWordBits);
                any = true;
            }
        });
        begin += words_for(block.n_rows) * kWordBits;
    }
    return any;
}

void fill_planes(const Data& data, const RowOrder& order, Ticker& ticker, BitMatrix& matrix) {
    std::uint64_t all_bits = 0;
    for (const std::int64_t weight : data.row_weight) {
        all_bits |= static_cast<std::uint64_t>(weight);
    }
    matrix.n_planes = static_cast<std::size_t>(std::bit_width(all_bits));
    matrix.planes.ensure(matrix.n_planes * matrix.n_words);
    std::fill_n(matrix.planes.data(), matrix.n_planes * matrix.n_words, 0);
    for_each(order.n_positions(), kRowWork * matrix.n_planes, ticker, [&](std::size_t i) {
        if (order.row_at[i] == RowOrder::kPadding) {
            return;
        }
        const auto weight = static_cast<std::uint64_t>(data.row_weight[order.row_at[i]]);
        for (std::uint64_t rest = weight; rest != 0; rest &= rest - 1) {
            const auto p = static_cast<std::size_t>(std::countr_zero(rest));
            matrix.planes[p * matrix.n_words + i / kWordBits] |= std::uint64_t{1} << (i % kWordBits);
        }
    });
}

// Append the words of one block to a subset that holds all rows of a dense matrix.
void describe_words(const Subset& all, OrderedRows& ordered) {
    ordered.words.clear();
    for (const Span& span : all.spans) {
        ordered.words.resize(span.end, {span.class_index, span.shift});
    }
}

void append_block(const Block& block, Subset& all) {
    const std::size_t first = all.words.size();
    for (std::size_t left = block.n_rows; left > 0; left -= std::min(left, kWordBits)) {
        all.words.push_back(static_cast<std::uint32_t>(all.words.size()));
        all.masks.push_back(low_bits(left));
    }
    all.spans.push_back({block.class_index, block.shift, static_cast<std::uint32_t>(first),
                         static_cast<std::uint32_t>(all.words.size())});
}

void clear(Subset& subset) {
    subset.words.clear();
    subset.masks.clear();
    subset.spans.clear();
}

}  // namespace

Fingerprint hash_matrix(const BitMatrix& matrix, const Subset& all, const Kernels& kernels, Ticker& ticker) {
    constexpr std::size_t kPart = std::size_t{1} << 16;
    Fingerprint hash;
    const auto add = [&](const std::uint64_t* words, std::size_t n) {
        for (std::size_t begin = 0; begin < n; begin += kPart) {
            const std::size_t size = std::min(kPart, n - begin);
            ticker.tick(8 * size);
            hash = kernels.hash_words(hash, words + begin, size);
        }
    };
    std::vector<std::uint64_t> spans = {matrix.n_columns, matrix.n_planes};
    for (const Span& span : all.spans) {
        spans.push_back(static_cast<std::uint64_t>(span.class_index));
        spans.push_back(static_cast<std::uint64_t>(span.shift));
        spans.push_back(kernels.count_rows(all.list(span), nullptr));
    }
    add(spans.data(), spans.size());
    add(matrix.bits.data(), matrix.n_words * matrix.n_columns);
    add(matrix.planes.data(), matrix.n_words * matrix.n_planes);
    // The grid says little about the order of the rows.
    const std::size_t n_entries = matrix.ordered.groups.size() * matrix.ordered.n_entries;
    const auto* pairs = reinterpret_cast<const std::uint64_t*>(matrix.ordered.entries.data());
    add(pairs, (n_entries + 1) / 2);
    return hash;
}

void build_matrix(const Data& data, MatrixExtras extras, const Kernels& kernels, Ticker& ticker, BitMatrix& matrix,
                  Subset& all) {
    const RowSource source(data, kernels);
    RowFacts facts{data, {}, {}, needs_planes(data)};
    if (data.groups.empty()) {  // rows that are equal in their other columns may differ in those of groups
        const Arrange merge = data.row_weight.empty() ? extras.arrange : Arrange::never;
        facts.duplicates = find_duplicates(data, source, {.merge = merge, .conflicts = extras.conflicts}, ticker);
    }
    facts.clusters = find_clusters(data, source, extras.arrange, kernels, ticker);
    RowOrder order = sort_rows(facts, ticker);
    Tasks tasks(extras.threads, extras.threads_after);
    matrix.n_bits = data.n_columns;
    matrix.ordered.few_thresholds = extras.few_thresholds;
    matrix.ordered.build(data.groups, {order.row_at.data(), order.n_positions()}, tasks, ticker);
    const std::size_t n_used = matrix.ordered.lay_grid(matrix.n_bits);
    matrix.n_columns = padded(n_used);
    matrix.n_words = order.n_words;
    fill_bits(source, n_used, order, kernels, tasks, ticker, matrix);
    matrix.n_planes = 0;
    if (facts.in_planes) {
        fill_planes(data, order, ticker, matrix);
    }
    const auto is_primary = [&](std::uint32_t row, int shift) { return std::countr_zero(facts.copies(row)) == shift; };
    matrix.has_primary =
        !data.row_weight.empty() && !facts.in_planes && fill_marks(order, is_primary, ticker, matrix.primary);
    matrix.has_conflicts =
        !facts.duplicates.conflicting.empty() &&
        fill_marks(
            order, [&](std::uint32_t row, int) { return static_cast<bool>(facts.duplicates.conflicting[row]); }, ticker,
            matrix.conflicts);
    clear(all);
    for (const Block& block : order.blocks) {
        append_block(block, all);
    }
    describe_words(all, matrix.ordered);
    tasks.run(data.groups.size(), ticker, [&](std::size_t g, Ticker& own) {
        matrix.ordered.fill_grid(g, all.masks, matrix.n_columns, matrix.bits.data(), own);
    });
    if (!data.groups.empty()) {
        std::swap(matrix.ordered.row_of, order.row_at);
    }
    order = {};  // its memory can be reused for the fingerprints
    matrix.has_fingerprints = extras.fingerprints;
    if (extras.fingerprints) {
        const std::size_t n = matrix.n_words * kWordBits;
        matrix.salt = hash_matrix(matrix, all, kernels, ticker);
        kernels.fill_fingerprints(matrix.salt, n, matrix.fingerprint_low.ensure(n), matrix.fingerprint_high.ensure(n));
    }
}

ColumnBits bits_of(const BitMatrix& matrix, const ColumnPlace& place, AlignedBuffer<std::uint64_t>& buffer) {
    if (place.group < 0) {
        return matrix.column(place.index);
    }
    const auto g = static_cast<std::size_t>(place.group);
    const OrderedRows& ordered = matrix.ordered;
    const OrderedRows::Grid& grid = ordered.grids[g];
    const std::uint32_t first_true =
        place.reading == Reading::is_missing ? grid.n_present : ordered.n_up_to(g, place.index);
    const auto n_cuts =
        static_cast<std::size_t>(std::upper_bound(grid.cuts.begin(), grid.cuts.end(), first_true) - grid.cuts.begin());
    const std::uint32_t cut = n_cuts == 0 ? 0 : grid.cuts[n_cuts - 1];
    const ColumnBits of_cut = matrix.column(grid.first_column + n_cuts - 1);
    if (cut == first_true && n_cuts > 0 && place.reading != Reading::second) {
        return of_cut;
    }
    std::uint64_t* bits = buffer.ensure(matrix.n_words);
    for (std::size_t w = 0; w < matrix.n_words; ++w) {
        bits[w] = n_cuts == 0 ? ~std::uint64_t{0} : of_cut.word(w);
    }
    const auto clear = [&](std::size_t begin, std::size_t end) {
        for (const std::uint32_t entry : ordered.of_group(g).subspan(begin, end - begin)) {
            const std::uint32_t position = entry & OrderedRows::kPosition;
            bits[position / 64] &= ~(std::uint64_t{1} << (position % 64));
        }
    };
    clear(cut, first_true);
    if (place.reading == Reading::second) {
        clear(grid.n_present, ordered.n_entries);
    }
    return {bits, 1};
}

void select_rows(const OrderedRows& ordered, std::span<const std::uint64_t> masks, Subset& out) {
    clear(out);
    for (std::uint32_t w = 0; w < masks.size(); ++w) {
        if (masks[w] == 0) {
            continue;
        }
        const auto [class_index, shift] = ordered.words[w];
        const auto n = static_cast<std::uint32_t>(out.words.size());
        if (out.spans.empty() || out.spans.back().class_index != class_index || out.spans.back().shift != shift) {
            out.spans.push_back({class_index, shift, n, n});
        }
        out.words.push_back(w);
        out.masks.push_back(masks[w]);
        out.spans.back().end = n + 1;
    }
}

namespace {

template <bool kFar>
void split_rows(const Subset& subset, ColumnBits column, bool side, Subset& out) {
    out.words.resize(subset.words.size());
    out.masks.resize(subset.masks.size());
    out.spans.clear();
    const std::uint64_t flip = side ? 0 : ~std::uint64_t{0};
    std::uint32_t n = 0;
    for (const Span& span : subset.spans) {
        const std::uint32_t first = n;
        for (std::uint32_t i = span.begin; i < span.end; ++i) {
            if constexpr (kFar) {
                const std::uint32_t ahead = std::min(i + kPrefetch, span.end - 1);
                prefetch(column.data + subset.words[ahead] * column.stride);
            }
            const std::uint64_t mask = subset.masks[i] & (column.word(subset.words[i]) ^ flip);
            out.words[n] = subset.words[i];
            out.masks[n] = mask;
            n += mask != 0 ? 1 : 0;
        }
        if (n > first) {
            out.spans.push_back({span.class_index, span.shift, first, n});
        }
    }
    out.words.resize(n);
    out.masks.resize(n);
}

}  // namespace

// One cache line of every word is read. If the matrix is not in the cache, the line must be prefetched.
void split(const BitMatrix& matrix, const Subset& subset, ColumnBits column, bool side, Subset& out) {
    if (matrix.n_words * column.stride * sizeof(std::uint64_t) > kCacheBytes) {
        split_rows<true>(subset, column, side, out);
    } else {
        split_rows<false>(subset, column, side, out);
    }
}

namespace {

// Where the next row goes while rows are moved together: a word of the target and a bit in it.
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

void compact_word(const BitMatrix& matrix, std::size_t n_columns, std::uint32_t from, std::uint64_t mask,
                  const Target& to, const Kernels& kernels, BitMatrix& out) {
    // Rows that overflow go to the next word. The last word cannot overflow, so its out_high is never written.
    const bool last = to.word() + 1 == out.n_words;
    std::uint64_t* low = out.bits.data() + to.word() * out.n_columns;
    kernels.compress(matrix.word(from), mask, to.bit(), n_columns, low, last ? low : low + out.n_columns);
    const auto single = [&](const std::uint64_t* in, std::uint64_t* target) {
        kernels.compress(in + from, mask, to.bit(), 1, target + to.word(), target + to.word() + (last ? 0 : 1));
    };
    for (std::size_t p = 0; p < matrix.n_planes; ++p) {
        single(matrix.planes.data() + p * matrix.n_words, out.planes.data() + p * out.n_words);
    }
    if (matrix.has_primary) {
        single(matrix.primary.data(), out.primary.data());
    }
    if (matrix.has_conflicts) {
        single(matrix.conflicts.data(), out.conflicts.data());
    }
    if (!matrix.has_fingerprints) {
        return;
    }
    std::size_t position = to.word() * kWordBits + to.bit();
    for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1, ++position) {
        const std::size_t row = from * kWordBits + static_cast<std::size_t>(std::countr_zero(rest));
        out.fingerprint_low[position] = matrix.fingerprint_low[row];
        out.fingerprint_high[position] = matrix.fingerprint_high[row];
    }
}

}  // namespace

namespace {

// The ordered rows of a dense matrix, and its number of columns, which depends on their grid.
void move_ordered(const BitMatrix& matrix, const Subset& subset, const Subset& all, Ticker& ticker, BitMatrix& out) {
    std::vector<std::uint32_t> moved(matrix.n_words * kWordBits, OrderedRows::kGone);
    std::uint32_t* row_of = out.ordered.row_of.ensure(out.n_words * kWordBits);
    std::size_t n_rows = 0;
    for (std::size_t s = 0; s < subset.spans.size(); ++s) {
        std::size_t to = all.spans[s].begin * kWordBits;
        for (std::uint32_t i = subset.spans[s].begin; i < subset.spans[s].end; ++i) {
            for (std::uint64_t rest = subset.masks[i]; rest != 0; rest &= rest - 1, ++to, ++n_rows) {
                const std::size_t from = subset.words[i] * kWordBits + static_cast<std::size_t>(std::countr_zero(rest));
                moved[from] = static_cast<std::uint32_t>(to);
                row_of[to] = matrix.ordered.row_of[from];
            }
        }
    }
    out.ordered.take(matrix.ordered, moved, n_rows, ticker);
    out.n_columns = padded(out.ordered.lay_grid(out.n_bits));
}

}  // namespace

void compact(const BitMatrix& matrix, const Subset& subset, const Kernels& kernels, Ticker& ticker, BitMatrix& out,
             Subset& all) {
    clear(all);
    for (const Span& span : subset.spans) {
        append_block({span.class_index, span.shift, kernels.count_rows(subset.list(span), nullptr)}, all);
    }
    const std::size_t n_columns = matrix.n_bits == 0 ? 0 : padded(matrix.n_bits);
    out.n_words = all.words.size();
    out.n_bits = matrix.n_bits;
    out.n_columns = matrix.n_columns;
    out.caller_column = matrix.caller_column;
    out.copies = matrix.copies;
    out.place = matrix.place;
    if (!matrix.ordered.empty()) {
        move_ordered(matrix, subset, all, ticker, out);
    }
    out.has_primary = matrix.has_primary;
    out.n_planes = matrix.n_planes;
    out.has_conflicts = matrix.has_conflicts;
    const auto zeros = [](AlignedBuffer<std::uint64_t>& buffer, std::size_t size) {
        std::fill_n(buffer.ensure(size), size, 0);
    };
    zeros(out.bits, out.n_words * out.n_columns);
    zeros(out.planes, out.n_words * out.n_planes);
    if (out.has_primary) {
        zeros(out.primary, out.n_words);
    }
    if (out.has_conflicts) {
        zeros(out.conflicts, out.n_words);
    }
    out.has_fingerprints = matrix.has_fingerprints;
    if (out.has_fingerprints) {
        out.fingerprint_low.ensure(out.n_words * kWordBits);  // those of padding rows are never used
        out.fingerprint_high.ensure(out.n_words * kWordBits);
    }
    for (std::size_t s = 0; s < subset.spans.size(); ++s) {
        Target to(all.spans[s].begin);
        for (std::uint32_t i = subset.spans[s].begin; i < subset.spans[s].end; ++i) {
            ticker.tick(8 * n_columns);
            compact_word(matrix, n_columns, subset.words[i], subset.masks[i], to, kernels, out);
            to.advance(static_cast<unsigned>(std::popcount(subset.masks[i])));
        }
    }
    for (std::size_t w = 0; w < out.n_words && !out.ordered.empty(); ++w) {  // what came along with the last bits
        std::fill_n(out.bits.data() + w * out.n_columns + out.n_bits, n_columns - std::min(out.n_bits, n_columns), 0);
    }
    describe_words(all, out.ordered);
    out.ordered.fill_grid(all.masks, out.n_columns, out.bits.data(), ticker);
}

void keep_columns(BitMatrix& matrix, std::span<const std::size_t> kept, std::span<const std::int64_t> copies) {
    const std::size_t n_columns = padded(kept.size());
    for (std::size_t w = 0; w < matrix.n_words; ++w) {
        const std::uint64_t* from = matrix.bits.data() + w * matrix.n_columns;
        std::uint64_t* to = matrix.bits.data() + w * n_columns;  // never beyond what is still to be read
        for (std::size_t i = 0; i < kept.size(); ++i) {
            to[i] = from[kept[i]];
        }
        std::fill(to + kept.size(), to + n_columns, 0);
    }
    std::vector<std::int32_t> caller_column;
    for (const std::size_t j : kept) {
        caller_column.push_back(matrix.column_of(j));
    }
    matrix.place.assign(matrix.place.empty() ? matrix.n_bits : matrix.place.size(), -1);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        matrix.place[static_cast<std::size_t>(caller_column[i])] = static_cast<std::int32_t>(i);
    }
    matrix.caller_column.swap(caller_column);
    matrix.copies.assign(copies.begin(), copies.end());
    matrix.copies.resize(n_columns, 0);
    matrix.n_bits = kept.size();
    matrix.n_columns = n_columns;
}

}  // namespace topk
