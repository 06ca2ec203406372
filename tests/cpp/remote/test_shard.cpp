// Counts of a shard against sums over its rows: several blocks, paths that share their beginnings, weights of all
// kinds.
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/remote/shard.hpp"

using namespace topk;

namespace {

// A random tree of splits in preorder.
struct Tree {
    std::vector<std::int32_t> depth = {0};
    std::vector<std::int32_t> column = {0};
    std::vector<std::uint8_t> side = {0};
    std::vector<std::int64_t> answers;
    std::size_t n_answers = 0;

    Tree(Random& random, std::size_t n, std::size_t n_columns) {
        for (std::size_t i = 1; i < n; ++i) {
            depth.push_back(1 + static_cast<std::int32_t>(random.below(static_cast<std::size_t>(depth.back()) + 1)));
            column.push_back(static_cast<std::int32_t>(random.below(n_columns)));
            side.push_back(random.chance(0.5) ? 1 : 0);
        }
        for (std::size_t i = 0; i < n; ++i) {
            answers.push_back(random.chance(0.7) ? static_cast<std::int64_t>(n_answers++) : -1);
        }
    }

    Paths view() const { return {depth, column, side, answers}; }

    // Is the row in the subset of entry i?
    bool has(std::size_t i, const std::vector<std::uint8_t>& row) const {
        for (std::int32_t wanted = depth[i]; wanted > 0; --i) {
            if (depth[i] == wanted) {
                if ((row[static_cast<std::size_t>(column[i])] != 0) != (side[i] != 0)) {
                    return false;
                }
                --wanted;
            }
        }
        return true;
    }
};

void test_counts(const Problem& problem, const Data& data, const Tree& tree, bool count_rows, const Kernels& kernels) {
    const ShardShape shape = {problem.n_columns, static_cast<std::size_t>(problem.n_classes)};
    const std::vector<std::uint64_t> shard = make_shard(data, 0, kernels);
    const std::size_t size = shape.n_classes * shape.n_columns;
    std::vector<std::int64_t> counted(tree.n_answers * size);
    count_shard(shard, shape, tree.view(), tree.n_answers, count_rows, kernels, counted.data());
    for (std::size_t i = 0; i < tree.answers.size(); ++i) {
        if (tree.answers[i] < 0) {
            continue;
        }
        std::vector<std::int64_t> expected(size, 0);
        for (std::size_t r = 0; r < problem.rows.size(); ++r) {
            const std::int64_t weight = count_rows || problem.row_weight.empty() ? 1 : problem.row_weight[r];
            for (std::size_t j = 0; j < shape.n_columns && tree.has(i, problem.rows[r]); ++j) {
                expected[static_cast<std::size_t>(problem.classes[r]) * shape.n_columns + j] +=
                    weight * problem.rows[r][j];
            }
        }
        const auto begin =
            counted.begin() + static_cast<std::ptrdiff_t>(tree.answers[i]) * static_cast<std::ptrdiff_t>(size);
        CHECK(std::equal(expected.begin(), expected.end(), begin), kernels.name << ", entry " << i);
    }
}

template <class Call>
bool refuses(Call call) {
    try {
        call();
    } catch (const std::invalid_argument&) {
        return true;
    }
    return false;
}

// A shard that is cut off, changed or of another shape is rejected or counted, but never read beyond its end.
void test_damage(Random& random) {
    Problem problem = random_problem(random, 300, 20, 3);
    random_weights(random, random.pick({0, 3, 1 << 20}), 1, problem);
    const Kernels& kernels = find_kernels("");
    const std::vector<std::uint64_t> shard = make_shard(problem.data(), 0, kernels);
    const Tree tree(random, 10, 20);
    std::vector<std::int64_t> out(tree.n_answers * 3 * 20);
    const auto count = [&](const std::vector<std::uint64_t>& words) {
        count_shard(words, {20, 3}, tree.view(), tree.n_answers, false, kernels, out.data());
    };
    for (int i = 0; i < 50; ++i) {
        std::vector<std::uint64_t> cut(shard.begin(),
                                       shard.begin() + 1 + static_cast<std::ptrdiff_t>(random.below(shard.size() - 1)));
        CHECK(refuses([&] { count(cut); }));
        std::vector<std::uint64_t> changed = shard;
        changed[random.below(20)] = random.pick<std::uint64_t>({0, 1, 17, 1000, random.bits(), ~std::uint64_t{0}});
        refuses([&] { count(changed); });
    }
    for (const ShardShape shape : {ShardShape{40, 3}, ShardShape{20, 1}}) {
        CHECK(refuses([&] { count_shard(shard, shape, tree.view(), tree.n_answers, false, kernels, out.data()); }));
    }
}

void test_bad_paths() {
    Random random(1);
    Problem problem = random_problem(random, 100, 5, 2);
    const Kernels& kernels = find_kernels("");
    const std::vector<std::uint64_t> shard = make_shard(problem.data(), 0, kernels);
    std::vector<std::int64_t> out(10);
    const auto is_bad = [&](const std::vector<std::int32_t>& depth, std::int32_t column, std::int64_t answer) {
        const std::vector<std::int32_t> columns(depth.size(), column);
        const std::vector<std::uint8_t> sides(depth.size(), 1);
        const std::vector<std::int64_t> answers(depth.size(), answer);
        return refuses(
            [&] { count_shard(shard, {5, 2}, {depth, columns, sides, answers}, 1, false, kernels, out.data()); });
    };
    CHECK(!is_bad({0, 1, 2, 1}, 4, 0));
    CHECK(is_bad({1}, 4, 0));
    CHECK(is_bad({0, 2}, 4, 0));
    CHECK(is_bad({0, 0}, 4, 0));
    CHECK(is_bad({0, -1}, 4, 0));
    CHECK(is_bad({0, 1}, 5, 0));
    CHECK(is_bad({0, 1}, -1, 0));
    CHECK(is_bad({0, 1}, 4, 1));
}

}  // namespace

int main() {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        Random random(seed);
        const std::size_t n_rows = random.pick<std::size_t>({1, 63, 700, 9000});
        Problem problem = random_problem(random, n_rows, random.pick<std::size_t>({1, 5, 40}), random.pick({1, 2, 5}));
        random_weights(random, random.pick({0, 0, 3, 1 << 20}), random.pick({1, 3}), problem);
        const Data data = problem.data();
        const Tree tree(random, random.between(1, 40), problem.n_columns);
        for (const Kernels* kernels : available_kernels()) {
            test_counts(problem, data, tree, seed % 2 == 0, *kernels);
        }
        test_counts(problem, problem.flag_data(), tree, seed % 3 == 0, find_kernels(""));
        test_damage(random);
    }
    test_bad_paths();
    return check::report();
}
