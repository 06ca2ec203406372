// Columns of drawn features of a node and of its children: drawing before counting against drawing afterwards.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/candidates/drawn_columns.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"
#include "topk/data/node.hpp"
#include "topk/score/scoring.hpp"

using namespace topk;

namespace {

// Features with few or many columns, some with none.
FeatureDraw random_draw(Random& random, std::size_t n_columns) {
    FeatureDraw draw;
    draw.seed = random.bits();
    const double next = random.pick({0.03, 0.3, 1.0});
    std::int32_t feature = 0;
    for (std::size_t j = 0; j < n_columns; ++j) {
        feature += random.chance(next) ? static_cast<std::int32_t>(random.between(1, 2)) : 0;
        draw.of_column.push_back(feature);
    }
    draw.n_all = static_cast<std::size_t>(feature) + 1 + random.below(3);
    draw.n_features = random.between(1, random.pick<std::size_t>({2, 10, 100}));
    return draw;
}

template <class Count>
void count_rows(const Problem& problem, const BitMatrix& matrix, Counter<Count>& counter, Node<Count>& node) {
    node.matrix = &matrix;
    std::vector<Count> totals(static_cast<std::size_t>(problem.n_classes), 0);
    for (const Span& span : node.subset.spans) {
        Count rows = 0;
        for (std::uint32_t i = span.begin; i < span.end; ++i) {
            rows += static_cast<Count>(std::popcount(node.subset.masks[i]));
        }
        const auto c = static_cast<std::size_t>(span.class_index);
        totals[c] += (rows << span.shift) * static_cast<Count>(problem.class_weight[c]);
    }
    for (std::int32_t c = 0; c < problem.n_classes; ++c) {
        if (totals[static_cast<std::size_t>(c)] > 0) {
            add_total(node, c, totals[static_cast<std::size_t>(c)]);
        }
    }
    count_node(node, counter, false);
}

// The drawn columns and their counts are those that drawing from all keys leaves.
template <class Count>
void check_drawn(const DrawnColumns<Count>& drawn, const Node<Count>& node, const Scorer& scorer) {
    AlignedBuffer<std::int64_t> all_keys;
    AlignedBuffer<ScoreKey> keys;
    scorer.keys(node.counts, node.matrix->n_columns, all_keys.ensure(node.matrix->n_columns));
    scorer.all_keys(drawn.counts(), drawn.n_columns(), keys.ensure(std::max<std::size_t>(drawn.n_columns(), 1)));
    CHECK(drawn.counts().totals == node.counts.totals);
    CHECK(drawn.counts().class_index == node.counts.class_index);
    std::vector<std::int32_t> found;
    for (std::size_t j = 0; j < drawn.n_columns(); ++j) {
        if (keys[j] == kNoScoreKey) {
            continue;
        }
        const std::int32_t column = drawn.column(j);
        found.push_back(column);
        CHECK(score_of(keys[j]) == score_of(all_keys[static_cast<std::size_t>(column)]));
        for (std::size_t c = 0; c < node.counts.rows.size(); ++c) {
            CHECK(drawn.counts().rows[c][j] == node.counts.rows[c][column]);
        }
    }
    std::vector<std::int32_t> expected;
    for (std::size_t j = 0; j < node.matrix->n_columns; ++j) {
        if (all_keys[j] != kNoScoreKey) {
            expected.push_back(static_cast<std::int32_t>(j));
        }
    }
    CHECK(found == expected);
}

template <class Count>
void test_node(std::uint64_t seed, const Kernels& kernels) {
    Random random(seed);
    Problem problem = random_problem(random, random.between(2, random.pick<std::size_t>({10, 300})),
                                     random.pick<std::size_t>({1, 16, 17, 100}), random.pick({2, 3, 10}));
    const bool weighted = random.chance(0.5);
    random_weights(random, weighted ? 9 : 0, weighted ? 3 : 1, problem);
    Monitor monitor({});
    Ticker ticker(monitor);
    BitMatrix matrix;
    Node<Count> node;
    build_matrix(problem.data(), {}, kernels, ticker, matrix, node.subset);
    Counter<Count> counter(kernels, problem.class_weight, ticker);
    count_rows(problem, matrix, counter, node);
    Options options;
    options.objective.criterion = random.pick({Criterion::entropy, Criterion::gini});
    options.objective.draw = random_draw(random, problem.n_columns);
    const std::int64_t min_weight = random.pick({1, 1, 5, 100});
    const Scorer scorer(options.objective, problem.n_columns, problem.n_classes, problem.total_weight(), min_weight,
                        kernels);
    DrawnColumns<Count> drawn(options.objective, min_weight);
    drawn.open(node);
    drawn.take_node();
    check_drawn(drawn, node, scorer);
    for (int i = 0; i < 6; ++i) {
        const Split<Count> split_on(node, static_cast<std::int32_t>(random.below(problem.n_columns)));
        Subset small;
        split(matrix, node.subset, split_on.bits(), split_on.small_side(), small);
        drawn.open(split_on, small);
        for (const int which : {1, 0, 1}) {
            Node<Count> child;
            split(matrix, node.subset, split_on.bits(), (which == 0) == split_on.small_side(), child.subset);
            count_rows(problem, matrix, counter, child);
            drawn.count(which, counter);
            check_drawn(drawn, child, scorer);
        }
    }
}

}  // namespace

int main() {
    for (const Kernels* kernels : available_kernels()) {
        for (std::uint64_t seed = 0; seed < 150; ++seed) {
            test_node<std::int32_t>(seed, *kernels);
            test_node<std::int64_t>(seed, *kernels);
        }
    }
    return check::report();
}
