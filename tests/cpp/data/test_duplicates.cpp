// Equal and conflicting rows against a sorted map of the rows, with and without a sample first.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/data/duplicates.hpp"

using namespace topk;

namespace {

// All duplicates and conflicts.
struct Naive {
    std::vector<std::uint32_t> stands_for;
    std::vector<bool> conflicting;
    bool any_conflict = false;
};

Naive naive_duplicates(const Problem& problem) {
    using Groups = std::map<std::string, std::map<std::int32_t, std::vector<std::size_t>>>;
    Groups groups;
    for (std::size_t i = 0; i < problem.rows.size(); ++i) {
        groups[std::string(problem.rows[i].begin(), problem.rows[i].end())][problem.classes[i]].push_back(i);
    }
    Naive naive{std::vector<std::uint32_t>(problem.rows.size(), 0), std::vector<bool>(problem.rows.size(), false)};
    for (const auto& [columns, rows_of_class] : groups) {
        std::int64_t heaviest = 0;
        std::int32_t heaviest_class = -1;
        for (const auto& [class_index, rows] : rows_of_class) {
            naive.stands_for[rows[0]] = static_cast<std::uint32_t>(rows.size());
            std::int64_t weight = 0;
            for (const std::size_t row : rows) {
                weight += problem.weight(row);
            }
            if (weight > heaviest) {
                heaviest = weight;
                heaviest_class = class_index;
            }
        }
        for (const auto& [class_index, rows] : rows_of_class) {
            for (const std::size_t row : rows) {
                naive.conflicting[row] = class_index != heaviest_class;
                naive.any_conflict = naive.any_conflict || class_index != heaviest_class;
            }
        }
    }
    return naive;
}

Duplicates duplicates_of(const Data& data, DuplicateUses uses) {
    Monitor monitor({});
    Ticker ticker(monitor);
    return find_duplicates(data, RowSource(data, find_kernels("")), uses, ticker);
}

// What is found is true, whether or not everything is found.
void check_truth(const Duplicates& found, const Naive& naive, DuplicateUses uses) {
    CHECK(found.stands_for.empty() || found.stands_for == naive.stands_for);
    CHECK(found.conflicting.empty() || found.conflicting == naive.conflicting);
    CHECK(uses.merge != Arrange::never || found.stands_for.empty());
    CHECK(uses.merge != Arrange::always || !found.stands_for.empty());
    CHECK(uses.conflicts || found.conflicting.empty());
    CHECK(naive.any_conflict || found.conflicting.empty());
}

// `sampled`: conflicts may be overlooked.
void test_problem(Random& random, Problem& problem, bool sampled) {
    const Naive naive = naive_duplicates(problem);
    const Data packed = problem.data();
    add_garbage(random, problem);
    const Data flags = problem.flag_data();
    for (const Arrange merge : {Arrange::never, Arrange::if_it_pays, Arrange::always}) {
        for (const bool conflicts : {false, true}) {
            const DuplicateUses uses = {.merge = merge, .conflicts = conflicts};
            const Duplicates found = duplicates_of(packed, uses);
            check_truth(found, naive, uses);
            const bool all = !sampled || merge == Arrange::always;
            CHECK(!all || found.conflicting.empty() == !(conflicts && naive.any_conflict));
            const Duplicates same = duplicates_of(flags, uses);
            CHECK(same.stands_for == found.stands_for && same.conflicting == found.conflicting);
        }
    }
}

void test_all_rows() {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Random random(seed);
        Problem problem = random_problem(random, random.between(1, random.pick<std::size_t>({5, 100, 700})),
                                         random.pick<std::size_t>({0, 1, 3, 6, 64, 65, 130}), random.pick({1, 2, 5}));
        random_weights(random, random.pick<std::int64_t>({0, 3}), random.pick<std::int64_t>({1, 4}), problem);
        test_problem(random, problem, false);
    }
}

// Rows drawn from `n_distinct` different ones, with conflicting classes.
Problem drawn_problem(Random& random, std::size_t n_rows, std::size_t n_columns, std::size_t n_distinct,
                      std::int32_t n_classes) {
    Problem problem = random_problem(random, n_rows, n_columns, n_classes);
    for (auto& row : problem.rows) {
        const std::size_t which = random.below(n_distinct);
        for (std::size_t j = 0; j < n_columns; ++j) {
            row[j] = j < 64 && (which >> j & 1) != 0 ? 1 : 0;
        }
    }
    return problem;
}

void test_sampled_rows() {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        Random random(seed);
        const std::size_t n_rows = random.pick<std::size_t>({4095, 4096, 4097, 6000, 20'000});
        Problem problem = drawn_problem(random, n_rows, random.pick<std::size_t>({16, 70}),
                                        random.pick<std::size_t>({1, 2, 64, 4096, 65'536}), random.pick({2, 4}));
        random_weights(random, random.pick<std::int64_t>({0, 0, 3}), random.pick<std::int64_t>({1, 4}), problem);
        test_problem(random, problem, n_rows >= 4096);
    }
}

// Merging leaves one row in five, and enough of them to fill words.
void test_many_equal_rows_are_found() {
    Random random(5);
    Problem problem = drawn_problem(random, 60'000, 13, 4096, 2);
    const Naive naive = naive_duplicates(problem);
    const Duplicates found = duplicates_of(problem.data(), {.merge = Arrange::if_it_pays, .conflicts = true});
    CHECK(found.stands_for == naive.stands_for);
    CHECK(found.conflicting == naive.conflicting);
    const Duplicates bounded = duplicates_of(problem.data(), {.merge = Arrange::never, .conflicts = true});
    CHECK(bounded.stands_for.empty());
    CHECK(bounded.conflicting == naive.conflicting);
}

// Nothing is merged if too few rows would be left, or nearly all of them.
void test_merging_that_does_not_pay() {
    Random random(6);
    for (const std::size_t n_distinct : std::initializer_list<std::size_t>{64, 1'000'000}) {
        Problem problem = drawn_problem(random, 30'000, 20, n_distinct, 2);
        CHECK(duplicates_of(problem.data(), {.merge = Arrange::if_it_pays, .conflicts = false}).stands_for.empty());
    }
}

// The sample may fill its table: all rows are equal, or all rows of the sample differ.
void test_one_row_many_times() {
    Random random(7);
    Problem problem = drawn_problem(random, 10'000, 16, 1, 3);
    test_problem(random, problem, true);
}

void test_it_can_be_stopped() {
    Random random(8);
    Problem problem = drawn_problem(random, 60'000, 16, 65'536, 2);
    const Data data = problem.data();
    Monitor monitor({});
    monitor.set_time_limit(0);
    Ticker ticker(monitor);
    CHECK_THROWS(Stopped,
                 find_duplicates(data, RowSource(data, find_kernels("")), {Arrange::if_it_pays, true}, ticker));
}

}  // namespace

int main() {
    test_all_rows();
    test_sampled_rows();
    test_many_equal_rows_are_found();
    test_merging_that_does_not_pay();
    test_one_row_many_times();
    test_it_can_be_stopped();
    return check::report();
}
