// Bounds learnt from splits against the cheapest of all trees: never above it, and as high as the lemma allows.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/bounds/side_bounds.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/search/level_plan.hpp"

using namespace topk;

namespace {

using Rows = std::uint32_t;  // a bit for every row of the problem

struct Costs {
    std::int64_t scale;
    std::int64_t penalty;
    std::int64_t min_weight = 1;  // on each side of a split
};

// The cheapest tree of any set of rows, with all columns as candidates: every tree is tried.
class BruteForce {
  public:
    BruteForce(const Problem& problem, Costs costs) : problem_(problem), costs_(costs) {}

    Rows side(std::size_t column, bool value) const {
        Rows rows = 0;
        for (std::size_t i = 0; i < problem_.rows.size(); ++i) {
            rows |= Rows{(problem_.rows[i][column] != 0) == value} << i;
        }
        return rows;
    }

    std::int64_t weight(Rows rows) const {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < problem_.rows.size(); ++i) {
            sum += (rows >> i & 1) != 0 ? problem_.weight(i) : 0;
        }
        return sum;
    }

    std::int64_t best(Rows rows, int depth) {
        const auto question = std::pair(rows, depth);
        if (const auto known = known_.find(question); known != known_.end()) {
            return known->second;
        }
        std::int64_t cost = leaf(rows);
        for (std::size_t j = 0; j < problem_.n_columns && depth > 0; ++j) {
            const Rows sides[2] = {rows & side(j, false), rows & side(j, true)};
            if (std::min(weight(sides[0]), weight(sides[1])) >= costs_.min_weight) {
                cost = std::min(cost, best(sides[0], depth - 1) + best(sides[1], depth - 1));
            }
        }
        return known_[question] = cost;
    }

  private:
    std::int64_t leaf(Rows rows) const {
        std::vector<std::int64_t> weights(static_cast<std::size_t>(problem_.n_classes), 0);
        for (std::size_t i = 0; i < problem_.rows.size(); ++i) {
            weights[static_cast<std::size_t>(problem_.classes[i])] += (rows >> i & 1) != 0 ? problem_.weight(i) : 0;
        }
        return costs_.scale * (weight(rows) - *std::max_element(weights.begin(), weights.end())) + costs_.penalty;
    }

    const Problem& problem_;
    const Costs costs_;
    std::map<std::pair<Rows, int>, std::int64_t> known_;
};

// Weight of the true rows per class and column.
template <class Count>
struct ClassCounts {
    ClassCounts(const Problem& problem, Rows rows, std::size_t n_padded) : tables(problem.class_weight.size()) {
        std::vector<bool> present(tables.size(), false);
        for (auto& table : tables) {
            std::fill_n(table.ensure(n_padded), n_padded, Count{0});
        }
        for (std::size_t i = 0; i < problem.rows.size(); ++i) {
            const auto c = static_cast<std::size_t>(problem.classes[i]);
            for (std::size_t j = 0; j < problem.n_columns && (rows >> i & 1) != 0; ++j) {
                present[c] = true;
                tables[c][j] += static_cast<Count>(problem.rows[i][j] * problem.weight(i));
            }
        }
        for (std::size_t c = 0; c < tables.size(); ++c) {
            pointers.push_back(present[c] ? tables[c].data() : nullptr);
        }
    }

    std::vector<AlignedBuffer<Count>> tables;
    std::vector<const Count*> pointers;  // null for classes without rows
};

// A tried split: two disjoint sets that make up the node, and lower bounds for their costs.
struct Tried {
    Rows rows[2];
    std::int64_t cost[2];
};

using Columns = std::vector<std::int32_t>;

template <class Count>
void check_bounds(const Problem& problem, BruteForce& brute, Rows node, int depth, Costs costs,
                  const Columns& candidates, const std::vector<Tried>& tried, const Kernels& kernels) {
    const std::size_t n_padded = (problem.n_columns + kColumnPadding - 1) / kColumnPadding * kColumnPadding;
    const ClassCounts<Count> of_node(problem, node, n_padded);
    Counts<Count> counts;
    std::copy_if(of_node.pointers.begin(), of_node.pointers.end(), std::back_inserter(counts.rows),
                 [](const Count* row) { return row != nullptr; });
    SideBounds<Count> bounds;
    bounds.reset(counts, static_cast<Count>(brute.weight(node)), costs.scale, n_padded, candidates, kernels);
    std::vector<std::int64_t> expected(2 * problem.n_columns, 0);
    for (const Tried& split : tried) {
        const ClassCounts<Count> of_a(problem, split.rows[0], n_padded);
        bounds.learn({of_a.pointers, static_cast<Count>(brute.weight(split.rows[0])), {split.cost[0], split.cost[1]}},
                     kernels);
        for (const std::int32_t column : candidates) {
            const auto j = static_cast<std::size_t>(column);
            for (const bool value : {false, true}) {
                const Rows side = node & brute.side(j, value);
                std::int64_t& best = expected[2 * j + (value ? 1 : 0)];
                for (int i = 0; i < 2; ++i) {
                    best = std::max(best, split.cost[i] - costs.scale * brute.weight(split.rows[i] & ~side));
                }
                const std::int64_t lower = bounds.lower(j, value);
                CHECK(lower <= brute.best(side, depth), kernels.name << ", depth " << depth << ", column " << j);
                CHECK(lower == best, kernels.name << ", depth " << depth << ", column " << j);
            }
            CHECK(bounds.lower(j) == bounds.lower(j, false) + bounds.lower(j, true));
        }
    }
}

// Return what a search subtracts from the costs of trees of this depth before it learns from them.
std::int64_t cost_of_minimum(Costs costs, int depth) {
    Options options;
    options.objective.cost_scale = costs.scale;
    const LevelPlan plan(
        options,
        {.min_weight = costs.min_weight, .min_rows = 1, .track_rows = false, .too_little = costs.min_weight - 1}, 1,
        true);
    return depth > 0 ? plan.cost_of_minimum(depth) : 0;
}

// Splits on columns, with exact costs or lower bounds, and the split with no rows on one side.
std::vector<Tried> random_splits(Random& random, const Problem& problem, BruteForce& brute, Rows node, int depth,
                                 std::int64_t slack) {
    std::vector<Tried> tried;
    for (std::size_t i = random.between(1, 4); i > 0; --i) {
        const std::size_t column = random.below(problem.n_columns);
        const bool value = random.chance(0.5);
        Tried split = {{node & brute.side(column, value), node & brute.side(column, !value)}, {}};
        if (random.chance(0.3)) {
            split.rows[0] = 0;
            split.rows[1] = node;
        }
        for (int side = 0; side < 2; ++side) {
            const std::int64_t best = brute.best(split.rows[side], depth);
            const bool exact = random.chance(0.7);
            split.cost[side] = exact ? best : best - static_cast<std::int64_t>(random.below(3)) * best / 3;
            split.cost[side] -= slack;
        }
        if (split.rows[0] == 0) {
            split.cost[0] = 0;  // as in the search
        }
        tried.push_back(split);
    }
    return tried;
}

void test_problem(std::uint64_t seed) {
    Random random(seed);
    Problem problem = random_problem(random, random.between(2, 14), random.between(1, 5), random.pick({2, 2, 3}));
    random_weights(random, random.pick<std::int64_t>({0, 0, 4, 1000}), random.pick<std::int64_t>({1, 1, 3}), problem);
    const auto scale = random.pick<std::int64_t>({1, 1, 2, 1000});
    const Costs costs = {scale, random.pick<std::int64_t>({0, 0, 1, scale, 3 * scale}),
                         random.pick<std::int64_t>({1, 1, 2, 3, problem.total_weight() / 4 + 1})};
    BruteForce brute(problem, costs);
    BruteForce free(problem, {costs.scale, costs.penalty});  // no minimum
    const Rows all = (Rows{1} << problem.rows.size()) - 1;
    for (int depth = 0; depth <= 3; ++depth) {
        const Rows node = random.chance(0.5) ? all : all & static_cast<Rows>(random.bits());
        const std::int64_t slack = cost_of_minimum(costs, depth);
        CHECK(brute.best(node, depth) <= free.best(node, depth) + slack, "seed " << seed << ", depth " << depth);
        std::vector<Tried> tried = random_splits(random, problem, brute, node, depth, slack);
        const std::vector<Tried> more = random_splits(random, problem, free, node, depth, 0);
        tried.insert(tried.end(), more.begin(), more.end());
        Columns all_columns(problem.n_columns);
        std::iota(all_columns.begin(), all_columns.end(), 0);
        const Columns one_column = {all_columns[random.below(problem.n_columns)]};
        for (const Columns& candidates : {all_columns, one_column}) {
            for (const Kernels* kernels : available_kernels()) {
                check_bounds<std::int32_t>(problem, brute, node, depth, costs, candidates, tried, *kernels);
            }
            check_bounds<std::int64_t>(problem, brute, node, depth, costs, candidates, tried, find_kernels(""));
        }
    }
}

// Nested thresholds, for which the bound is made: a split that is far too expensive rules out its neighbour.
void test_neighbours_are_bounded() {
    Problem problem;
    problem.n_columns = 2;
    problem.n_classes = 2;
    problem.class_weight = {1, 1};
    for (std::size_t i = 0; i < 20; ++i) {
        problem.rows.push_back({static_cast<std::uint8_t>(i < 10), static_cast<std::uint8_t>(i < 11)});
        problem.classes.push_back(static_cast<std::int32_t>(i % 2));
    }
    const Costs costs = {1, 0};
    BruteForce brute(problem, costs);
    const Rows all = (Rows{1} << 20) - 1;
    const Tried tried = {{brute.side(0, true), brute.side(0, false)}, {5, 5}};
    const Columns candidates = {0, 1};
    check_bounds<std::int32_t>(problem, brute, all, 0, costs, candidates, {tried}, find_kernels(""));
    const ClassCounts<std::int32_t> of_node(problem, all, kColumnPadding);
    const ClassCounts<std::int32_t> of_a(problem, tried.rows[0], kColumnPadding);
    Counts<std::int32_t> counts;
    counts.rows = of_node.pointers;
    SideBounds<std::int32_t> bounds;
    bounds.reset(counts, 20, 1, kColumnPadding, candidates, find_kernels(""));
    bounds.learn({of_a.pointers, 10, {5, 5}}, find_kernels(""));
    CHECK(bounds.lower(0) == 10 && bounds.lower(1, true) == 5 && bounds.lower(1, false) == 4);
    bounds.reset(counts, 20, 1, kColumnPadding, candidates, find_kernels(""));  // forgets what was learnt
    CHECK(bounds.lower(0) == 0 && bounds.lower(1) == 0);
}

// While learning does not pay, one node in sixteen tries.
void test_payoff() {
    const auto tries = [](Payoff& payoff) {
        int n = 0;
        for (int i = 0; i < 160; ++i) {
            n += payoff.try_it() ? 1 : 0;
        }
        return n;
    };
    Payoff payoff;
    CHECK(tries(payoff) == 160);
    payoff.spend(5e5);
    CHECK(tries(payoff) == 10);
    payoff.save(1e6);
    CHECK(tries(payoff) == 160);
}

}  // namespace

int main() {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        test_problem(seed);
    }
    test_neighbours_are_bounded();
    test_payoff();
    return check::report();
}
