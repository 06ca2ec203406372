// Rows are the same packed and as flags, whatever the bits beyond the last column are.
#include <cstdint>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/data/row_source.hpp"

using namespace topk;

namespace {

void test_rows(const Problem& problem, const Data& data, const Kernels& kernels) {
    const RowSource source(data, kernels);
    const std::size_t n_words = (problem.n_columns + 63) / 64;
    CHECK(source.words_per_row() == n_words);
    for (std::size_t i = 0; i < problem.rows.size(); ++i) {
        std::vector<std::uint64_t> expected(n_words, 0);
        for (std::size_t j = 0; j < problem.n_columns; ++j) {
            expected[j / 64] |= std::uint64_t{problem.rows[i][j]} << (j % 64);
            CHECK(source.test(i, j) == (problem.rows[i][j] != 0), kernels.name << ": row " << i << ", column " << j);
        }
        std::vector<std::uint64_t> words(n_words, ~std::uint64_t{0});
        source.prefetch(i);
        source.read(i, words.data());
        CHECK(words == expected, kernels.name << ": row " << i << " of " << problem.n_columns << " columns");
    }
}

}  // namespace

int main() {
    Random random(1);
    for (const Kernels* kernels : available_kernels()) {
        for (const std::size_t n_columns :
             std::initializer_list<std::size_t>{0, 1, 2, 31, 63, 64, 65, 100, 127, 128, 129, 200}) {
            Problem problem = random_problem(random, random.between(1, 40), n_columns, 2);
            test_rows(problem, problem.flag_data(), *kernels);
            test_rows(problem, problem.data(), *kernels);
            add_garbage(random, problem);
            test_rows(problem, {problem.packed, problem.rows.size(), n_columns, problem.classes, 2, {}, {}, {}},
                      *kernels);
        }
    }
    return check::report();
}
