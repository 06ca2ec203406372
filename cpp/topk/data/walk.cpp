// One row after the other: the tree stays in the first-level cache.
#include "topk/data/walk.hpp"

#include "topk/base/require.hpp"
#include "topk/base/score_key.hpp"

namespace topk {
namespace {

void check(const Data& data, const ColumnTree& tree) {
    const auto n_nodes = static_cast<std::int64_t>(tree.column.size());
    const std::size_t words_per_row = (data.n_columns + 63) / 64;
    require(
        n_nodes > 0 && tree.false_child.size() == tree.column.size() && tree.true_child.size() == tree.column.size(),
        "a tree must have nodes, and an entry per node in each of its arrays");
    require(data.n_columns < static_cast<std::size_t>(kMaxColumns), "n_columns must be below 2^24 - 1");
    require(data.flags.empty() ? data.rows.size() == data.n_rows * words_per_row
                               : data.flags.size() == data.n_rows * data.n_columns,
            "rows must have n_rows * ceil(n_columns / 64) words, flags n_rows * n_columns bytes");
    for (std::size_t i = 0; i < tree.column.size(); ++i) {
        const auto is_child = [&](std::int32_t child) {
            return child > static_cast<std::int64_t>(i) && child < n_nodes;
        };
        require(
            tree.column[i] == -1 || (tree.column[i] >= 0 && static_cast<std::size_t>(tree.column[i]) < data.n_columns &&
                                     is_child(tree.false_child[i]) && is_child(tree.true_child[i])),
            "a tree must test columns that are there, and have children after their parents");
    }
}

template <class Test>
void walk_rows(std::size_t n_rows, const ColumnTree& tree, Test test, std::int32_t* leaves) {
    for (std::size_t row = 0; row < n_rows; ++row) {
        std::size_t node = 0;
        while (tree.column[node] >= 0) {
            const auto column = static_cast<std::size_t>(tree.column[node]);
            node = static_cast<std::size_t>(test(row, column) ? tree.true_child[node] : tree.false_child[node]);
        }
        leaves[row] = static_cast<std::int32_t>(node);
    }
}

}  // namespace

void walk(const Data& data, const ColumnTree& tree, std::int32_t* leaves) {
    check(data, tree);
    if (data.flags.empty()) {
        const std::size_t words_per_row = (data.n_columns + 63) / 64;
        const auto test = [&](std::size_t row, std::size_t column) {
            return (data.rows[row * words_per_row + column / 64] >> (column % 64) & 1) != 0;
        };
        walk_rows(data.n_rows, tree, test, leaves);
    } else {
        const auto test = [&](std::size_t row, std::size_t column) {
            return data.flags[row * data.n_columns + column] != 0;
        };
        walk_rows(data.n_rows, tree, test, leaves);
    }
}

}  // namespace topk
