// best(S, h) as search/search.hpp states it: lists of rows, plain recursion, no cache, bounds or threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "support/problems.hpp"
#include "topk/base/types.hpp"
#include "topk/score/scoring.hpp"

class Reference {
  public:
    Reference(const Problem& problem, const topk::Options& options)
        : problem_(problem),
          options_(options),
          scorer_(options.objective, problem.n_columns, problem.n_classes, problem.total_weight(),
                  options.objective.min_weight, topk::find_kernels("scalar")) {}

    topk::Solution solve() const {
        std::vector<std::size_t> rows(problem_.rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i] = i;
        }
        const Tree tree = best(rows, 0);
        topk::Solution solution;
        solution.cost = tree.cost;
        append(tree, solution);
        return solution;
    }

  protected:
    struct Tree {
        std::int64_t cost = 0;
        std::int32_t column = -1;
        std::int64_t n_rows = 0;
        std::vector<std::int64_t> class_weight;
        std::unique_ptr<Tree> child[2];
    };

    Tree leaf(const std::vector<std::size_t>& rows) const {
        Tree tree;
        tree.n_rows = static_cast<std::int64_t>(rows.size());
        tree.class_weight.assign(static_cast<std::size_t>(problem_.n_classes), 0);
        std::int64_t total = 0;
        for (const std::size_t i : rows) {
            tree.class_weight[static_cast<std::size_t>(problem_.classes[i])] += problem_.weight(i);
            total += problem_.weight(i);
        }
        const std::int64_t heaviest = *std::max_element(tree.class_weight.begin(), tree.class_weight.end());
        tree.cost = options_.objective.cost_scale * (total - heaviest) + options_.objective.leaf_penalty;
        return tree;
    }

    // Return the k best-scoring columns that can split the rows, best first.
    std::vector<std::int32_t> candidates(const std::vector<std::size_t>& rows, const Tree& node, std::size_t k) const {
        const std::size_t n_columns = problem_.n_columns;
        std::vector<std::vector<std::int64_t>> weights(node.class_weight.size(), std::vector<std::int64_t>(n_columns));
        std::vector<std::int32_t> n_true(n_columns);
        for (const std::size_t i : rows) {
            for (std::size_t j = 0; j < n_columns; ++j) {
                weights[static_cast<std::size_t>(problem_.classes[i])][j] += problem_.rows[i][j] * problem_.weight(i);
                n_true[j] += problem_.rows[i][j];
            }
        }
        topk::Counts<std::int64_t> counts;
        for (std::size_t c = 0; c < weights.size(); ++c) {
            if (node.class_weight[c] > 0) {
                counts.rows.push_back(weights[c].data());
                counts.totals.push_back(node.class_weight[c]);
                counts.class_index.push_back(static_cast<std::int32_t>(c));
            }
        }
        counts.n_true = n_true.data();
        counts.n_rows = node.n_rows;
        std::vector<topk::ScoreKey> keys(n_columns);
        if (k < n_columns || options_.objective.draw.n_features > 0) {
            scorer_.keys(counts, n_columns, keys.data());
        } else {
            scorer_.all_keys(counts, n_columns, keys.data());  // both readings of every test
        }
        std::sort(keys.begin(), keys.end(), std::greater<>());
        std::vector<std::int32_t> columns;
        std::set<std::int32_t> tests;
        for (std::size_t i = 0; i < keys.size() && tests.size() < k && keys[i] != topk::kNoScoreKey; ++i) {
            const std::int32_t column = topk::column_of(keys[i]);
            const auto is_alike = [&](std::int32_t other) { return split_alike(rows, column, other); };
            if (!options_.objective.distinct_splits || std::none_of(columns.begin(), columns.end(), is_alike)) {
                columns.push_back(column);
                tests.insert(test_of(column));
            }
        }
        return columns;
    }

    // The first reading of a column's test.
    std::int32_t test_of(std::int32_t column) const {
        const std::vector<std::int32_t>& second = options_.objective.second_reading;
        for (std::int32_t first = 0; first < column && !second.empty(); ++first) {
            if (const std::int32_t offset = second[static_cast<std::size_t>(first)];
                offset > 0 && first + offset == column) {
                return first;
            }
        }
        return column;
    }

    // Are the columns equal or complementary on these rows?
    bool split_alike(const std::vector<std::size_t>& rows, std::int32_t a, std::int32_t b) const {
        const auto differ = [&](std::size_t i) {
            return problem_.rows[i][static_cast<std::size_t>(a)] != problem_.rows[i][static_cast<std::size_t>(b)];
        };
        return std::none_of(rows.begin(), rows.end(), differ) || std::all_of(rows.begin(), rows.end(), differ);
    }

    std::array<std::vector<std::size_t>, 2> divide(const std::vector<std::size_t>& rows, std::int32_t column) const {
        std::array<std::vector<std::size_t>, 2> sides;
        for (const std::size_t i : rows) {
            sides[problem_.rows[i][static_cast<std::size_t>(column)]].push_back(i);
        }
        return sides;
    }

    // Return the first k columns by score; with a lookahead, by the cost of greedy trees below more of them.
    std::vector<std::int32_t> chosen(const std::vector<std::size_t>& rows, const Tree& node, std::size_t k,
                                     std::size_t level) const {
        const auto n_listed = std::min(static_cast<std::size_t>(options_.objective.lookahead), problem_.n_columns);
        const std::size_t height = options_.objective.k.size() - level;
        if (n_listed > 0 && height <= 2) {
            return candidates(rows, node, std::max(k, height == 2 ? n_listed : problem_.n_columns));
        }
        if (k >= n_listed) {
            return candidates(rows, node, k);
        }
        std::vector<std::pair<std::int64_t, std::int32_t>> listed;
        for (const std::int32_t column : candidates(rows, node, n_listed)) {
            const auto sides = divide(rows, column);
            listed.emplace_back(best(sides[0], level + 1, true).cost + best(sides[1], level + 1, true).cost, column);
        }
        std::stable_sort(listed.begin(), listed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        std::vector<std::int32_t> columns;
        std::set<std::int32_t> tests;
        for (std::size_t i = 0; i < listed.size() && tests.size() < k; ++i) {
            columns.push_back(listed[i].second);
            tests.insert(test_of(listed[i].second));
        }
        return columns;
    }

    // The candidates of a greedy tree: the column with the best score; on the last level, all columns.
    std::vector<std::int32_t> greedy(const std::vector<std::size_t>& rows, const Tree& node, std::size_t level) const {
        return candidates(rows, node, level + 1 < options_.objective.k.size() ? 1 : problem_.n_columns);
    }

    Tree best(const std::vector<std::size_t>& rows, std::size_t level, bool is_greedy = false) const {
        Tree tree = leaf(rows);
        const auto n_present =
            std::count_if(tree.class_weight.begin(), tree.class_weight.end(), [](auto w) { return w > 0; });
        if (level == options_.objective.k.size() || n_present == 1) {
            return tree;
        }
        const auto k = static_cast<std::size_t>(options_.objective.k[level]);
        for (const std::int32_t column : is_greedy ? greedy(rows, tree, level) : chosen(rows, tree, k, level)) {
            const auto sides = divide(rows, column);
            Tree child[2] = {best(sides[0], level + 1, is_greedy), best(sides[1], level + 1, is_greedy)};
            if (child[0].cost + child[1].cost < tree.cost) {
                tree.cost = child[0].cost + child[1].cost;
                tree.column = column;
                for (int side = 0; side < 2; ++side) {
                    tree.child[side] = std::make_unique<Tree>(std::move(child[side]));
                }
            }
        }
        return tree;
    }

    static std::int32_t append(const Tree& tree, topk::Solution& solution) {
        const std::size_t index = solution.column.size();
        solution.column.push_back(tree.column);
        solution.false_child.push_back(-1);
        solution.true_child.push_back(-1);
        solution.n_rows.push_back(tree.n_rows);
        solution.class_weight.insert(solution.class_weight.end(), tree.class_weight.begin(), tree.class_weight.end());
        if (tree.column != -1) {
            solution.false_child[index] = append(*tree.child[0], solution);
            solution.true_child[index] = append(*tree.child[1], solution);
        }
        return static_cast<std::int32_t>(index);
    }

    const Problem& problem_;
    const topk::Options& options_;
    topk::Scorer scorer_;
};

inline bool same_tree(const topk::Solution& a, const topk::Solution& b) {
    return a.cost == b.cost && a.column == b.column && a.false_child == b.false_child && a.true_child == b.true_child &&
           a.n_rows == b.n_rows && a.class_weight == b.class_weight;
}
