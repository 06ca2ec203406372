// Matrices that are built, split and compacted hold the same rows as plain lists of rows.
#include <tuple>
#include <utility>
#include <vector>

#include "support/check.hpp"
#include "support/ordered.hpp"
#include "support/problems.hpp"
#include "topk/data/bit_matrix.hpp"

using namespace topk;

namespace {

struct Row {
    std::vector<std::uint8_t> columns;
    std::int32_t class_index;
    std::int64_t weight;  // without the factor of the class
    bool conflict;
    friend bool operator==(const Row&, const Row&) = default;
};

// Conflicts: rows that are not of the heaviest class among the rows equal to them.
std::vector<bool> naive_conflicts(const Problem& problem) {
    std::vector<bool> conflicts;
    for (std::size_t i = 0; i < problem.rows.size(); ++i) {
        std::vector<std::int64_t> weights(static_cast<std::size_t>(problem.n_classes));
        for (std::size_t other = 0; other < problem.rows.size(); ++other) {
            if (problem.rows[other] == problem.rows[i]) {
                weights[static_cast<std::size_t>(problem.classes[other])] += problem.weight(other);
            }
        }
        const auto heaviest = std::max_element(weights.begin(), weights.end()) - weights.begin();
        conflicts.push_back(problem.classes[i] != heaviest);
    }
    return conflicts;
}

// Merge equal rows into one whose weight is the sum, in an order of their own.
std::vector<Row> summed(std::vector<Row> rows) {
    const auto identity = [](const Row& row) { return std::tie(row.class_index, row.columns, row.conflict); };
    std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return identity(a) < identity(b); });
    std::vector<Row> sums;
    for (const Row& row : rows) {
        if (!sums.empty() && identity(sums.back()) == identity(row)) {
            sums.back().weight += row.weight;
        } else {
            sums.push_back(row);
        }
    }
    return sums;
}

std::vector<Row> naive_rows(const Problem& problem, bool with_conflicts) {
    const std::vector<bool> conflicts = naive_conflicts(problem);
    std::vector<Row> rows;
    for (std::size_t i = 0; i < problem.rows.size(); ++i) {
        const std::int64_t weight = problem.row_weight.empty() ? 1 : problem.row_weight[i];
        rows.push_back({problem.rows[i], problem.classes[i], weight, with_conflicts && conflicts[i]});
    }
    return rows;
}

Row read_row(const BitMatrix& matrix, std::size_t n_columns, const Span& span, std::size_t word, std::size_t bit) {
    const auto has = [&](std::uint64_t bits) { return static_cast<std::uint8_t>(bits >> bit & 1); };
    Row row = {{}, span.class_index, matrix.n_planes == 0 ? std::int64_t{1} << span.shift : 0, false};
    for (std::size_t p = 0; p < matrix.n_planes; ++p) {
        row.weight += std::int64_t{has(matrix.planes[p * matrix.n_words + word])} << p;
    }
    for (std::size_t j = 0; j < n_columns; ++j) {
        row.columns.push_back(has(matrix.word(word)[j]));
    }
    row.conflict = matrix.has_conflicts && has(matrix.conflicts[word]) != 0;
    return row;
}

// Merged rows are stored once per bit of their number.
bool no_row_twice(const std::vector<Row>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (std::find(rows.begin() + static_cast<std::ptrdiff_t>(i) + 1, rows.end(), rows[i]) != rows.end()) {
            return false;
        }
    }
    return true;
}

struct Contents {
    std::vector<Row> rows;
    std::vector<Fingerprint> fingerprints;  // per row; empty if the matrix has none
    std::size_t n_primary = 0;
};

// Also checks the invariants of subsets: words ascend, masks are not empty, spans are adjacent and in order.
Contents read(const BitMatrix& matrix, const Subset& subset, std::size_t n_columns) {
    Contents contents;
    std::uint32_t begin = 0;
    std::pair<std::int32_t, int> last = {-1, 0};
    for (const Span& span : subset.spans) {
        CHECK(span.begin == begin && span.end > begin && std::pair(span.class_index, span.shift) > last);
        begin = span.end;
        last = {span.class_index, span.shift};
        for (std::uint32_t i = span.begin; i < span.end; ++i) {
            CHECK(subset.masks[i] != 0 && subset.words[i] < matrix.n_words);
            CHECK(i == 0 || subset.words[i] > subset.words[i - 1]);
            for (std::size_t bit = 0; bit < 64; ++bit) {
                if ((subset.masks[i] >> bit & 1) != 0) {
                    const std::size_t at = std::size_t{64} * subset.words[i] + bit;
                    contents.rows.push_back(read_row(matrix, n_columns, span, subset.words[i], bit));
                    contents.n_primary += matrix.has_primary ? matrix.primary[subset.words[i]] >> bit & 1 : 1;
                    if (matrix.has_fingerprints) {
                        contents.fingerprints.push_back({matrix.fingerprint_low[at], matrix.fingerprint_high[at]});
                    }
                }
            }
        }
    }
    CHECK(begin == subset.words.size() && begin == subset.masks.size());
    return contents;
}

// A dense matrix fills the words of a class from the lowest bit on, and its padding columns are false.
void check_dense(const BitMatrix& matrix, const Subset& all, std::size_t n_columns) {
    CHECK(matrix.n_columns % kColumnPadding == 0 && matrix.n_columns >= n_columns);
    CHECK(matrix.n_words == all.words.size());
    for (const Span& span : all.spans) {
        for (std::uint32_t i = span.begin; i < span.end; ++i) {
            CHECK(i + 1 == span.end ? (all.masks[i] & (all.masks[i] + 1)) == 0 : all.masks[i] == ~std::uint64_t{0});
            for (std::size_t j = 0; j < matrix.n_columns; ++j) {
                const std::uint64_t bits = matrix.word(all.words[i])[j];
                CHECK((bits & ~(j < n_columns ? all.masks[i] : 0)) == 0);
            }
        }
    }
}

struct Level {
    BitMatrix matrix;
    Subset subset;
};

void check_compact(const Level& level, const Kernels& kernels, std::size_t n_columns, Level& dense) {
    Monitor monitor({});
    Ticker ticker(monitor);
    compact(level.matrix, level.subset, kernels, ticker, dense.matrix, dense.subset);
    const Contents before = read(level.matrix, level.subset, n_columns);
    const Contents after = read(dense.matrix, dense.subset, n_columns);
    check_dense(dense.matrix, dense.subset, n_columns);
    CHECK(kernels.count_rows(dense.subset.list(), nullptr) == before.rows.size());
    CHECK(after.rows == before.rows, kernels.name);
    CHECK(after.fingerprints == before.fingerprints, kernels.name);
    CHECK(after.n_primary == before.n_primary, kernels.name);
}

// Splits on random columns, one below the other, with or without compaction in between.
void test_matrix(Random& random, Problem& problem, const Kernels& kernels) {
    const MatrixExtras extras = {.conflicts = random.chance(0.7),
                                 .fingerprints = random.chance(0.7),
                                 .arrange = random.pick({Arrange::never, Arrange::if_it_pays, Arrange::always})};
    Monitor monitor({});
    Ticker ticker(monitor);
    Level levels[2];
    Level* current = &levels[0];
    const Data data = random.chance(0.5) ? problem.data() : problem.flag_data();
    build_matrix(data, extras, kernels, ticker, current->matrix, current->subset);
    std::vector<Row> expected = naive_rows(problem, extras.conflicts);
    const bool merged = extras.arrange == Arrange::always && problem.row_weight.empty();
    CHECK(current->matrix.has_fingerprints == extras.fingerprints);
    check_dense(current->matrix, current->subset, problem.n_columns);
    for (int step = 0; step < 6; ++step) {
        const Contents contents = read(current->matrix, current->subset, problem.n_columns);
        CHECK(summed(contents.rows) == summed(expected), kernels.name);
        CHECK(merged || contents.n_primary == expected.size());
        CHECK(!merged || no_row_twice(contents.rows));
        if (random.chance(0.5)) {
            Level* other = current == &levels[0] ? &levels[1] : &levels[0];
            check_compact(*current, kernels, problem.n_columns, *other);
            current = other;
        }
        if (problem.n_columns > 0) {
            const std::size_t column = random.below(problem.n_columns);
            const bool side = random.chance(0.5);
            Subset part;
            split(current->matrix, current->subset, column, side, part);
            current->subset = part;
            std::erase_if(expected, [&](const Row& row) { return (row.columns[column] != 0) != side; });
        }
    }
}

void test_keys_differ(Random& random) {
    Problem problem = random_problem(random, 3000, 3, 4);
    Monitor monitor({});
    Ticker ticker(monitor);
    Level level;
    build_matrix(problem.data(), {.fingerprints = true}, find_kernels(""), ticker, level.matrix, level.subset);
    std::vector<std::uint64_t> halves;
    for (const Fingerprint& fingerprint : read(level.matrix, level.subset, 3).fingerprints) {
        halves.push_back(fingerprint.low);
        halves.push_back(fingerprint.high);
    }
    std::sort(halves.begin(), halves.end());
    CHECK(halves.size() == 6000 && std::adjacent_find(halves.begin(), halves.end()) == halves.end());
}

// Moving many rows together can be stopped.
void test_stopped_compact() {
    Problem problem = noise(50'000, 60);
    Monitor monitor({});
    Ticker ticker(monitor);
    Level level;
    Level dense;
    build_matrix(problem.data(), {}, find_kernels(""), ticker, level.matrix, level.subset);
    monitor.set_time_limit(0);
    CHECK_THROWS(Stopped, compact(level.matrix, level.subset, find_kernels(""), ticker, dense.matrix, dense.subset));
}

// The salt depends on every row, class and weight, and on nothing else.
void test_salt(Random& random) {
    Problem problem = random_problem(random, 300, 20, 3);
    random_weights(random, random.pick<std::int64_t>({1, 3, std::int64_t{1} << 40}), 1, problem);
    const auto salt = [&](const Kernels& kernels) {
        Monitor monitor({});
        Ticker ticker(monitor);
        Level level;
        build_matrix(problem.data(), {}, kernels, ticker, level.matrix, level.subset);
        return hash_matrix(level.matrix, level.subset, kernels, ticker);
    };
    const Fingerprint before = salt(find_kernels("scalar"));
    for (const Kernels* kernels : available_kernels()) {
        CHECK(salt(*kernels) == before, kernels->name);
    }
    const std::size_t row = random.below(300);
    problem.rows[row][random.below(20)] ^= 1;
    const Fingerprint after_bit = salt(find_kernels(""));
    problem.classes[row] = (problem.classes[row] + 1) % 3;
    const Fingerprint after_class = salt(find_kernels(""));
    problem.row_weight[row] += 1;
    const Fingerprint after_weight = salt(find_kernels(""));
    CHECK(before != after_bit && after_bit != after_class && after_class != after_weight);
}

// Large matrices have fewer thresholds in their grid; several threads build the same matrix as one.
void test_grid() {
    for (const std::size_t n_rows : {8192U, 8193U}) {
        Random random(n_rows);
        OrderedProblem problem = random_ordered(random, n_rows, 0, 1, 2);
        for (int i = 0; i < 3; ++i) {
            add_group(random, problem, 100, false);
            add_bits(random, problem, false);
        }
        Level one;
        Level several;
        Monitor monitor({});
        Ticker ticker(monitor);
        const Kernels& kernels = find_kernels("");
        build_matrix(problem.data(), {.few_thresholds = 127}, kernels, ticker, one.matrix, one.subset);
        build_matrix(problem.data(), {.few_thresholds = 127, .threads = 3}, kernels, ticker, several.matrix,
                     several.subset);
        for (const OrderedRows::Grid& grid : one.matrix.ordered.grids) {
            const bool is_whole = !grid.has_gaps && grid.n_present > 0;
            CHECK(is_whole == (n_rows == 8192) || grid.cuts.size() < 63, grid.cuts.size() << " cuts");
        }
        CHECK(several.matrix.n_columns == one.matrix.n_columns);
        CHECK(hash_matrix(several.matrix, several.subset, kernels, ticker) ==
              hash_matrix(one.matrix, one.subset, kernels, ticker));
        CHECK(std::equal(one.subset.words.begin(), one.subset.words.end(), several.subset.words.begin()));
    }
}

}  // namespace

int main() {
    for (const Kernels* kernels : available_kernels()) {
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            Random random(seed);
            const std::size_t n_columns = random.pick<std::size_t>({1, 5, 16, 63, 64, 65, 130});
            Problem problem = random_problem(random, random.between(1, random.pick<std::size_t>({10, 200, 500})),
                                             n_columns, random.pick({1, 2, 3, 40}));
            if (random.chance(0.5)) {
                random_weights(random, random.pick<std::int64_t>({1, 9, std::int64_t{1} << 40}), 5, problem);
            }
            test_matrix(random, problem, *kernels);
        }
    }
    Random random(7);
    test_keys_differ(random);
    test_stopped_compact();
    test_grid();
    for (int i = 0; i < 20; ++i) {
        test_salt(random);
    }
    return check::report();
}
