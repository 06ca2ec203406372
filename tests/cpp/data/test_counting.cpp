// Counts by popcount, with weights and with merged rows, against sums over the rows.
#include <cstdint>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"

using namespace topk;

namespace {

// Several sides of splits of the rows with `column`, counted at once, against sums over the rows.
template <class Count>
void test_sides(const Problem& problem, const BitMatrix& matrix, const Subset& subset, std::size_t column,
                Counter<Count>& counter) {
    if (matrix.n_planes > 0) {
        return;
    }
    const std::size_t n_columns = problem.n_columns;
    std::vector<Side> sides;
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < std::min<std::size_t>(n_columns, 5); ++i) {
        columns.push_back((column + 7 * i) % n_columns);
        sides.push_back({matrix.column(columns.back()), i % 3 == 0});
    }
    std::vector<AlignedBuffer<Count>> counted(sides.size());
    std::vector<Count*> out;
    for (AlignedBuffer<Count>& buffer : counted) {
        out.push_back(buffer.ensure(matrix.n_columns));
    }
    for (std::size_t span = 0; span < subset.spans.size();) {
        const std::int32_t class_index = subset.spans[span].class_index;
        counter.weights_of_sides(matrix, subset, sides, span, out.data());
        CHECK(span == subset.spans.size() || subset.spans[span].class_index > class_index);
        for (std::size_t s = 0; s < sides.size(); ++s) {
            std::vector<Count> expected(matrix.n_columns);
            for (std::size_t i = 0; i < problem.rows.size(); ++i) {
                const auto& row = problem.rows[i];
                const bool is_there = problem.classes[i] == class_index && row[column] != 0 &&
                                      (row[columns[s]] != 0) == sides[s].value;
                for (std::size_t j = 0; j < n_columns && is_there; ++j) {
                    expected[j] += static_cast<Count>(row[j] * problem.weight(i));
                }
            }
            CHECK(std::equal(expected.begin(), expected.end(), out[s]), "side of column " << columns[s]);
        }
    }
}

template <class Count>
void test_counts(const Problem& problem, const Data& data, std::size_t column, Arrange arrange,
                 const Kernels& kernels) {
    Monitor monitor({});
    Ticker ticker(monitor);
    BitMatrix matrix;
    Subset all;
    Subset subset;  // the rows with `column`
    build_matrix(data, {.arrange = arrange}, kernels, ticker, matrix, all);
    split(matrix, all, column, true, subset);

    const std::size_t n_columns = problem.n_columns;
    std::vector<std::vector<Count>> weights(static_cast<std::size_t>(problem.n_classes), std::vector<Count>(n_columns));
    std::vector<std::int32_t> rows(n_columns);
    for (std::size_t i = 0; i < problem.rows.size(); ++i) {
        for (std::size_t j = 0; j < n_columns && problem.rows[i][column] != 0; ++j) {
            const auto weight = static_cast<Count>(problem.rows[i][j] * problem.weight(i));
            weights[static_cast<std::size_t>(problem.classes[i])][j] += weight;
            rows[j] += problem.rows[i][j];
        }
    }
    Counter<Count> counter(kernels, data.class_weight, ticker);
    AlignedBuffer<Count> counted;
    counted.ensure(matrix.n_columns);
    for (std::size_t span = 0; span < subset.spans.size();) {
        const std::int32_t class_index = subset.spans[span].class_index;
        counter.weights(matrix, subset, span, counted.data());
        const std::vector<Count>& expected = weights[static_cast<std::size_t>(class_index)];
        CHECK(std::equal(expected.begin(), expected.end(), counted.data()), kernels.name);
        CHECK(span == subset.spans.size() || subset.spans[span].class_index > class_index, kernels.name);
    }
    AlignedBuffer<std::int32_t> counted_rows;
    counter.rows(matrix, subset, counted_rows.ensure(matrix.n_columns));
    CHECK(std::equal(rows.begin(), rows.end(), counted_rows.data()), kernels.name);
    CHECK(counter.n_rows(matrix, subset) == static_cast<std::size_t>(rows[column]), kernels.name);
    test_sides<Count>(problem, matrix, subset, column, counter);
}

// Equal rows of classes 0, 1 and 2 with weights 5, 7 and 7: the first of the heaviest classes is right.
void test_conflicts() {
    Problem problem;
    problem.n_columns = 2;
    problem.n_classes = 3;
    problem.rows = {{0, 1}, {0, 1}, {0, 1}, {1, 1}, {0, 1}, {1, 0}};
    problem.classes = {0, 1, 2, 0, 1, 1};
    problem.row_weight = {5, 3, 1, 100, 4, 100};
    problem.class_weight = {1, 1, 7};
    Monitor monitor({});
    Ticker ticker(monitor);
    BitMatrix matrix;
    Subset all;
    build_matrix(problem.data(), {.conflicts = true}, find_kernels(""), ticker, matrix, all);
    for (const Kernels* kernels : available_kernels()) {
        Counter<std::int64_t> counter(*kernels, problem.class_weight, ticker);
        CHECK(counter.conflicts(matrix, all) == 5 + 7, kernels->name);
        Subset none;
        split(matrix, all, 0, true, none);
        CHECK(counter.conflicts(matrix, none) == 0, kernels->name);
    }
}

// With so many columns blocks of rows are as small as possible, and every class and weight has several of them.
void test_blocks(const Kernels& kernels) {
    Random random(4);
    Problem problem = random_problem(random, 5000, 4100, 2);
    test_counts<std::int32_t>(problem, problem.data(), 11, Arrange::never, kernels);
    random_weights(random, 3, 2, problem);
    test_counts<std::int64_t>(problem, problem.data(), 12, Arrange::never, kernels);
}

// With so many columns even a few words are counted in several parts.
void test_parts(const Kernels& kernels) {
    constexpr std::size_t n_columns = std::size_t{1} << 20;
    constexpr std::size_t n_words = 9;
    Random random(3);
    BitMatrix matrix;
    Subset subset;
    matrix.n_columns = n_columns;
    matrix.n_words = n_words;
    matrix.bits.ensure(n_words * n_columns);
    std::fill_n(matrix.bits.data(), n_words * n_columns, 0);
    std::vector<std::int32_t> expected(n_columns, 0);
    for (std::uint32_t w = 0; w < n_words; ++w) {
        subset.words.push_back(w);
        subset.masks.push_back(~std::uint64_t{0});
        for (int i = 0; i < 5000; ++i) {
            const std::size_t column = random.below(n_columns);
            if (matrix.bits[w * n_columns + column] == 0) {
                matrix.bits[w * n_columns + column] = std::uint64_t{1} << random.below(64);
                ++expected[column];
            }
        }
    }
    subset.spans.push_back({0, 0, 0, n_words});
    Monitor monitor({});
    Ticker ticker(monitor);
    Counter<std::int32_t> counter(kernels, {}, ticker);
    AlignedBuffer<std::int32_t> counts;
    counter.rows(matrix, subset, counts.ensure(n_columns));
    CHECK(std::equal(expected.begin(), expected.end(), counts.data()), kernels.name);
}

}  // namespace

int main() {
    for (const Kernels* kernels : available_kernels()) {
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            Random random(seed);
            Problem problem =
                random_problem(random, random.between(1, 300), random.between(1, 80), random.pick({2, 3, 20}));
            const std::size_t column = random.below(problem.n_columns);
            const Arrange arrange = random.pick({Arrange::never, Arrange::always});
            test_counts<std::int32_t>(problem, problem.data(), column, arrange, *kernels);
            random_weights(random, 9, 3, problem);
            test_counts<std::int32_t>(problem, problem.data(), column, arrange, *kernels);
            problem.row_weight.clear();
            test_counts<std::int64_t>(problem, problem.data(), column, arrange, *kernels);
            random_weights(random, std::int64_t{1} << 40, 1000, problem);
            test_counts<std::int64_t>(problem, problem.data(), column, arrange, *kernels);
        }
    }
    test_conflicts();
    test_parts(find_kernels(""));
    test_blocks(find_kernels(""));
    return check::report();
}
