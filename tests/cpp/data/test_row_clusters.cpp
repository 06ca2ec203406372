// Clusters of rows: any clusters are allowed, but equal rows share one and none is empty.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/data/row_clusters.hpp"

using namespace topk;

namespace {

Clusters clusters_of(const Data& data, Arrange arrange, const Kernels& kernels) {
    Monitor monitor({});
    Ticker ticker(monitor);
    return find_clusters(data, RowSource(data, kernels), arrange, kernels, ticker);
}

void check_clusters(const Problem& problem, const Clusters& clusters) {
    CHECK(clusters.of_row.size() == problem.rows.size());
    CHECK(clusters.n >= 1 && clusters.n <= 256);
    std::vector<bool> used(clusters.n, false);
    std::map<std::string, std::uint8_t> cluster_of;
    for (std::size_t i = 0; i < clusters.of_row.size(); ++i) {
        const std::uint8_t cluster = clusters.of_row[i];
        CHECK(cluster < clusters.n, "row " << i << " is in cluster " << int{cluster} << " of " << clusters.n);
        used[std::min<std::size_t>(cluster, clusters.n - 1)] = true;
        CHECK(cluster_of.emplace(std::string(problem.rows[i].begin(), problem.rows[i].end()), cluster).first->second ==
              cluster);
    }
    CHECK(std::count(used.begin(), used.end(), false) == 0, clusters.n << " clusters");
}

void check_same(const Clusters& a, const Clusters& b) { CHECK(a.n == b.n && a.of_row == b.of_row); }

void test_problem(Random& random, Problem& problem, Arrange arrange) {
    const Data packed = problem.data();
    const Clusters clusters = clusters_of(packed, arrange, find_kernels(""));
    if (arrange == Arrange::always || !clusters.of_row.empty()) {
        check_clusters(problem, clusters);
    } else {
        CHECK(clusters.n == 1);
    }
    add_garbage(random, problem);
    for (const Kernels* kernels : available_kernels()) {
        check_same(clusters_of(packed, arrange, *kernels), clusters);
        check_same(clusters_of(problem.flag_data(), arrange, *kernels), clusters);
    }
}

void test_small_problems() {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Random random(seed);
        Problem problem = random_problem(random, random.between(1, random.pick<std::size_t>({5, 100, 700})),
                                         random.pick<std::size_t>({1, 3, 16, 64, 65, 130}), random.pick({1, 2, 5, 40}));
        random_weights(random, random.pick<std::int64_t>({0, 3}), random.pick<std::int64_t>({1, 4}), problem);
        test_problem(random, problem, Arrange::always);
        CHECK(clusters_of(problem.data(), Arrange::if_it_pays, find_kernels("")).of_row.empty());
        CHECK(clusters_of(problem.data(), Arrange::never, find_kernels("")).of_row.empty());
    }
}

// The sample has all rows of some problems, and a part of the rows of others.
void test_large_problems() {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        Random random(seed);
        Problem problem =
            random_problem(random, random.pick<std::size_t>({2048, 8192, 8193, 30'000}), 12, random.pick({2, 3}));
        test_problem(random, problem, Arrange::if_it_pays);
        test_problem(random, problem, Arrange::always);
        CHECK(!clusters_of(problem.data(), Arrange::if_it_pays, find_kernels("")).of_row.empty());
    }
}

// As many clusters as a byte can tell apart.
void test_noise_has_many_clusters() {
    Problem problem = noise(6000, 20);
    Random random(1);
    test_problem(random, problem, Arrange::always);
    CHECK(clusters_of(problem.data(), Arrange::always, find_kernels("")).n == 256);
}

void test_rows_of_a_pure_column_are_together() {
    Problem problem = noise(4000, 9);
    for (std::size_t i = 0; i < problem.rows.size(); ++i) {
        problem.classes[i] = problem.rows[i][4];
    }
    const Clusters clusters = clusters_of(problem.data(), Arrange::if_it_pays, find_kernels(""));
    CHECK(clusters.n == 2);
    check_clusters(problem, clusters);
    for (std::size_t i = 0; i < problem.rows.size(); ++i) {
        CHECK((clusters.of_row[i] == clusters.of_row[0]) == (problem.rows[i][4] == problem.rows[0][4]));
    }
}

void test_nothing_to_split() {
    Random random(1);
    Problem no_columns = random_problem(random, 5000, 0, 2);
    for (const Arrange arrange : {Arrange::never, Arrange::if_it_pays, Arrange::always}) {
        const Clusters clusters = clusters_of(no_columns.data(), arrange, find_kernels(""));
        CHECK(clusters.n == 1 && clusters.of_row.empty());
    }
    Problem constant = noise(5000, 3);
    for (auto& row : constant.rows) {
        row = {1, 0, 1};
    }
    CHECK(clusters_of(constant.data(), Arrange::always, find_kernels("")).n == 1);
}

// With one class for nearly every row, a sample would hardly have two rows of one class.
void test_many_classes() {
    Problem problem = noise(3000, 6);
    problem.n_classes = 3000;
    problem.class_weight.assign(3000, 1);
    for (std::size_t i = 0; i < problem.rows.size(); ++i) {
        problem.classes[i] = static_cast<std::int32_t>(i);
    }
    CHECK(clusters_of(problem.data(), Arrange::if_it_pays, find_kernels("")).of_row.empty());
    check_clusters(problem, clusters_of(problem.data(), Arrange::always, find_kernels("")));
}

}  // namespace

int main() {
    test_small_problems();
    test_large_problems();
    test_noise_has_many_clusters();
    test_rows_of_a_pure_column_are_together();
    test_nothing_to_split();
    test_many_classes();
    return check::report();
}
