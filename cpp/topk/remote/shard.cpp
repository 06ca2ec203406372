// Blocks are written and read field by field; paths are visited depth first, with one subset per level.
#include "topk/remote/shard.hpp"

#include <algorithm>
#include <memory>

#include "topk/base/require.hpp"
#include "topk/base/validate.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"
#include "topk/parallel/stop.hpp"

namespace topk {
namespace {

constexpr std::size_t kMinBlockRows = 4096;
// With this many subsets below a subset it pays to move its rows together, if they are sparse.
constexpr std::int32_t kMinDescendants = 4;

// The header of a block: words per column, columns, planes, 1 if it has primary rows, spans.
enum Header : std::size_t { kWords, kColumns, kPlanes, kPrimary, kSpans, kHeaderSize };
// Words of a span: class, shift, rows.
constexpr std::size_t kSpanSize = 3;

template <class T>
std::span<const T> part(std::span<const T> values, std::size_t begin, std::size_t n, std::size_t width = 1) {
    return values.empty() ? values : values.subspan(begin * width, n * width);
}

void append_block(const BitMatrix& matrix, const Subset& all, const Kernels& kernels, std::vector<std::uint64_t>& out) {
    out.insert(out.end(),
               {matrix.n_words, matrix.n_columns, matrix.n_planes, matrix.has_primary ? 1U : 0U, all.spans.size()});
    for (const Span& span : all.spans) {
        out.insert(out.end(), {static_cast<std::uint64_t>(span.class_index), static_cast<std::uint64_t>(span.shift),
                               kernels.count_rows(all.list(span), nullptr)});
    }
    const auto append = [&](const AlignedBuffer<std::uint64_t>& words, std::size_t n) {
        out.insert(out.end(), words.data(), words.data() + n);
    };
    append(matrix.bits, matrix.n_words * matrix.n_columns);
    append(matrix.planes, matrix.n_words * matrix.n_planes);
    append(matrix.primary, matrix.has_primary ? matrix.n_words : 0);
}

constexpr const char* kCutOff = "shard ends in the middle of a block";

// Takes fields from the front of a shard.
class Reader {
  public:
    explicit Reader(std::span<const std::uint64_t> words) : rest_(words) {}
    bool done() const { return rest_.empty(); }
    bool has(std::size_t n, std::size_t width) const { return width == 0 || n <= rest_.size() / width; }

    std::span<const std::uint64_t> take(std::size_t n) {
        require(n <= rest_.size(), kCutOff);
        const auto taken = rest_.first(n);
        rest_ = rest_.subspan(n);
        return taken;
    }
    // Take n * width words.
    std::span<const std::uint64_t> take(std::size_t n, std::size_t width) {
        require(has(n, width), kCutOff);
        return take(n * width);
    }

  private:
    std::span<const std::uint64_t> rest_;
};

// Read the next block. It is copied, which aligns it for the kernels and brings it into the cache.
void read_block(Reader& reader, ShardShape shape, const Kernels& kernels, BitMatrix& matrix, Subset& all) {
    const auto header = reader.take(kHeaderSize);
    matrix.n_words = header[kWords];
    matrix.n_columns = header[kColumns];
    matrix.n_bits = shape.n_columns;
    matrix.n_planes = header[kPlanes];
    matrix.has_primary = header[kPrimary] != 0;
    require(matrix.n_columns > 0 && matrix.n_columns >= shape.n_columns && matrix.n_columns % kColumnPadding == 0 &&
                matrix.n_planes <= 53 && matrix.n_words < UINT32_MAX,
            "shard has a block of other columns");
    require(reader.has(matrix.n_words, matrix.n_columns), kCutOff);
    // Sums of unweighted rows have 32 bits, and sums of weights must be exact in a double.
    const bool weighted = matrix.has_primary || matrix.n_planes > 0;
    std::uint64_t rest = weighted ? (std::uint64_t{1} << 53) - 1 : INT32_MAX;
    const auto weigh = [&](std::uint64_t n_rows, std::uint64_t shift) {
        require(shift < 53 && n_rows <= rest >> shift, "shard has a block of too much weight");
        rest -= n_rows << shift;
    };
    all.words.clear();
    all.masks.clear();
    all.spans.clear();
    const auto spans = reader.take(header[kSpans], kSpanSize);
    for (std::size_t s = 0; s < spans.size(); s += kSpanSize) {
        const auto begin = static_cast<std::uint32_t>(all.words.size());
        require(spans[s] < shape.n_classes && spans[s + 2] > 0 &&
                    spans[s + 2] <= 64 * (matrix.n_words - all.words.size()) &&
                    (matrix.n_planes == 0 || spans[s + 1] == 0),
                "shard has a span of other classes");
        weigh(spans[s + 2], spans[s + 1]);
        for (std::uint64_t left = spans[s + 2]; left > 0; left -= std::min<std::uint64_t>(left, 64)) {
            all.words.push_back(static_cast<std::uint32_t>(all.words.size()));
            all.masks.push_back(left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1);
        }
        all.spans.push_back({static_cast<std::int32_t>(spans[s]), static_cast<int>(spans[s + 1]), begin,
                             static_cast<std::uint32_t>(all.words.size())});
    }
    require(all.words.size() == matrix.n_words, "shard has a block whose spans are not its words");
    const auto read = [&](AlignedBuffer<std::uint64_t>& to, std::size_t n, std::size_t width) {
        const auto words = reader.take(n, width);
        std::copy(words.begin(), words.end(), to.ensure(words.size()));
    };
    read(matrix.bits, matrix.n_words, matrix.n_columns);
    read(matrix.planes, matrix.n_words, matrix.n_planes);
    read(matrix.primary, matrix.n_words, matrix.has_primary ? 1 : 0);
    for (std::size_t p = 0; p < matrix.n_planes; ++p) {
        weigh(kernels.count_rows(all.list(), matrix.planes.data() + p * matrix.n_words), p);
    }
}

// Return, per entry, the number of entries below it.
std::vector<std::int32_t> count_descendants(const Paths& paths) {
    std::vector<std::int32_t> descendants(paths.depth.size(), 0);
    std::vector<std::size_t> above;  // the ancestors of the current entry
    for (std::size_t i = 0; i < paths.depth.size(); ++i) {
        above.resize(std::min(above.size(), static_cast<std::size_t>(paths.depth[i])));
        for (const std::size_t ancestor : above) {
            ++descendants[ancestor];
        }
        above.push_back(i);
    }
    return descendants;
}

void check_paths(const Paths& paths, ShardShape shape, std::size_t n_answers) {
    const std::size_t n = paths.depth.size();
    require(paths.column.size() == n && paths.side.size() == n && paths.answers.size() == n,
            "paths must have columns, sides and answers of one length");
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t before = i == 0 ? -1 : paths.depth[i - 1];
        require(paths.depth[i] >= (i == 0 ? 0 : 1) && paths.depth[i] <= before + 1, "paths must be in preorder");
        require(paths.depth[i] == 0 ||
                    (paths.column[i] >= 0 && static_cast<std::size_t>(paths.column[i]) < shape.n_columns),
                "paths must split on columns in [0, n_columns)");
        require(paths.answers[i] < static_cast<std::int64_t>(n_answers), "answers must be below n_answers");
    }
}

// Counts the subsets of one block after the other.
template <class Count>
class PathCounter {
  public:
    PathCounter(ShardShape shape, const Paths& paths, bool count_rows, const Kernels& kernels, std::int64_t* out)
        : shape_(shape),
          paths_(paths),
          count_rows_(count_rows),
          kernels_(kernels),
          out_(out),
          n_descendants_(count_descendants(paths)),
          ones_(shape.n_classes, 1),
          ticker_(monitor_),
          counter_(kernels, ones_, ticker_) {
        const auto deepest = std::max_element(paths.depth.begin(), paths.depth.end());
        levels_.resize(deepest == paths.depth.end() ? 1 : static_cast<std::size_t>(*deepest) + 1);
    }

    void add_block(const BitMatrix& matrix, const Subset& all) {
        levels_[0].matrix = &matrix;
        levels_[0].subset = &all;
        for (std::size_t i = 0; i < paths_.depth.size(); ++i) {
            const auto depth = static_cast<std::size_t>(paths_.depth[i]);
            if (depth > 0) {
                descend(i, levels_[depth - 1], levels_[depth]);
            }
            if (paths_.answers[i] >= 0) {
                add(levels_[depth],
                    out_ + static_cast<std::size_t>(paths_.answers[i]) * shape_.n_classes * shape_.n_columns);
            }
        }
    }

  private:
    struct Level {
        const BitMatrix* matrix = nullptr;
        const Subset* subset = nullptr;
        Subset split_off;
        BitMatrix own;  // its rows, moved together
        Subset all_own;
    };

    void descend(std::size_t i, const Level& from, Level& to) {
        split(*from.matrix, *from.subset, static_cast<std::size_t>(paths_.column[i]), paths_.side[i] != 0,
              to.split_off);
        to.matrix = from.matrix;
        to.subset = &to.split_off;
        if (n_descendants_[i] >= kMinDescendants &&
            2 * kernels_.count_rows(to.split_off.list(), nullptr) <= 64 * to.split_off.words.size()) {
            compact(*from.matrix, to.split_off, kernels_, ticker_, to.own, to.all_own);
            to.matrix = &to.own;
            to.subset = &to.all_own;
        }
    }

    // Add the counts of a subset to (n_classes, n_columns).
    void add(const Level& level, std::int64_t* out) {
        Count* counts = counts_.ensure(level.matrix->n_columns);
        for (std::size_t span = 0; span < level.subset->spans.size();) {
            const auto c = static_cast<std::size_t>(level.subset->spans[span].class_index);
            if (count_rows_) {
                counter_.rows_of_class(*level.matrix, *level.subset, span, counts);
            } else {
                counter_.weights(*level.matrix, *level.subset, span, counts);
            }
            std::int64_t* row = out + c * shape_.n_columns;
            for (std::size_t j = 0; j < shape_.n_columns; ++j) {
                row[j] += counts[j];
            }
        }
    }

    const ShardShape shape_;
    const Paths& paths_;
    const bool count_rows_;
    const Kernels& kernels_;
    std::int64_t* out_;
    const std::vector<std::int32_t> n_descendants_;
    const std::vector<std::int64_t> ones_;
    Monitor monitor_{{}};
    Ticker ticker_;
    Counter<Count> counter_;
    std::vector<Level> levels_;
    AlignedBuffer<Count> counts_;
};

}  // namespace

std::vector<std::uint64_t> make_shard(const Data& data, std::size_t block_bytes, const Kernels& kernels) {
    validate(data, {});
    const std::size_t words_per_row = (data.n_columns + 63) / 64;
    const std::size_t n = std::max(kMinBlockRows, block_bytes / std::max<std::size_t>(8 * words_per_row, 1) / 64 * 64);
    std::vector<std::uint64_t> shard;
    shard.reserve((data.n_rows / 64 + 64) * (64 * words_per_row + 1));
    Monitor monitor({});
    Ticker ticker(monitor);
    BitMatrix matrix;
    Subset all;
    for (std::size_t begin = 0; begin < data.n_rows; begin += n) {
        Data block = data;
        block.n_rows = std::min(n, data.n_rows - begin);
        block.rows = part(data.rows, begin, block.n_rows, words_per_row);
        block.flags = part(data.flags, begin, block.n_rows, data.n_columns);
        block.classes = part(data.classes, begin, block.n_rows);
        block.row_weight = part(data.row_weight, begin, block.n_rows);
        build_matrix(block, {}, kernels, ticker, matrix, all);
        append_block(matrix, all, kernels, shard);
    }
    return shard;
}

std::size_t n_counts(ShardShape shape, std::size_t n_answers) {
    std::size_t n = sizeof(std::int64_t);
    for (const std::size_t size : {n_answers, shape.n_classes, shape.n_columns}) {
        require(size == 0 || n <= SIZE_MAX / 2 / size, "n_answers, n_classes and n_columns must be smaller");
        n *= size;
    }
    return n / sizeof(std::int64_t);
}

void count_shard(std::span<const std::uint64_t> shard, ShardShape shape, const Paths& paths, std::size_t n_answers,
                 bool count_rows, const Kernels& kernels, std::int64_t* out) {
    require(shape.n_classes <= INT32_MAX, "n_classes must be below 2^31");
    check_paths(paths, shape, n_answers);
    // A block has fewer than 2^31 rows; only sums of weights can be larger.
    PathCounter<std::int32_t> of_rows(shape, paths, count_rows, kernels, out);
    PathCounter<std::int64_t> of_weights(shape, paths, count_rows, kernels, out);
    BitMatrix matrix;
    Subset all;
    for (Reader reader(shard); !reader.done();) {
        read_block(reader, shape, kernels, matrix, all);
        const bool weighted = matrix.n_planes > 0 || matrix.has_primary;
        if (weighted && !count_rows) {
            of_weights.add_block(matrix, all);
        } else {
            of_rows.add_block(matrix, all);
        }
    }
}

}  // namespace topk
