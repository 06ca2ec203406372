// Sizes, ranges, and totals that stay exact.
#include "topk/base/validate.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "topk/base/costs.hpp"
#include "topk/base/require.hpp"
#include "topk/base/score_key.hpp"

namespace topk {

void check_readings(std::span<const std::int32_t> second_reading, std::size_t n_columns) {
    require(second_reading.empty() || second_reading.size() == n_columns,
            "second_reading must have an entry per column");
    for (std::size_t j = 0; j < second_reading.size(); ++j) {
        require(second_reading[j] >= 0 && j + static_cast<std::size_t>(second_reading[j]) < n_columns,
                "second_reading must lead to a later column");
    }
}

namespace {

void check_columns(const Data& data) {
    const std::size_t n_stored = data.n_stored_columns();
    require(n_stored < static_cast<std::size_t>(kMaxColumns), "n_stored must be below 2^24 - 1");
    require(data.columns.size() == data.n_columns || (data.columns.empty() && data.n_columns == n_stored),
            "columns must have n_columns entries");
    require(std::adjacent_find(data.columns.begin(), data.columns.end(), std::greater_equal<>()) == data.columns.end(),
            "columns must rise");
    require(
        data.columns.empty() || (data.columns.front() >= 0 && static_cast<std::size_t>(data.columns.back()) < n_stored),
        "columns must be in [0, n_stored)");
    const std::size_t words_per_row = (n_stored + 63) / 64;
    require(data.flags.empty() ? data.rows.size() == data.n_rows * words_per_row
                               : data.flags.size() == data.n_rows * n_stored,
            "rows must have n_rows * ceil(n_stored / 64) words, flags n_rows * n_stored bytes");
}

void check_groups(const Data& data, const Objective& objective) {
    require(data.groups.size() < 1U << 17, "there must be fewer than 2^17 groups");
    require(data.groups.empty() || objective.criterion != Criterion::user,
            "a criterion of the user needs all columns as bits");
    std::size_t n_columns = data.n_columns;
    std::size_t end = 0;
    for (const OrderedGroup& group : data.groups) {
        require(group.n_ranks >= 1 && group.n_ranks <= INT32_MAX / 2, "n_ranks must be in [1, 2^30)");
        require(group.ranks.size() == data.n_rows, "ranks must have an entry per row");
        require(std::all_of(group.ranks.begin(), group.ranks.end(),
                            [&](std::uint32_t rank) {
                                return rank < group.n_ranks || (rank == OrderedGroup::kMissing && group.has_missing);
                            }),
                "ranks must be below n_ranks, or missing if the group has missing values");
        require(group.first >= end, "groups must rise and not overlap");
        require(objective.draw.n_features == 0 ||
                    (group.feature >= 0 && static_cast<std::size_t>(group.feature) < objective.draw.n_all),
                "features must be in [0, n_all)");
        end = group.first + group.n_columns();
        n_columns += group.n_columns();
        require(n_columns <= INT32_MAX, "all columns together must be fewer than 2^31");
    }
    require(end <= n_columns, "groups must be among all columns");
}

void check_rows(const Data& data) {
    require(data.n_rows > 0 && data.n_rows < INT32_MAX, "n_rows must be in [1, 2^31)");
    require(data.classes.size() == data.n_rows, "classes must have one entry per row");
    require(data.n_classes > 0, "n_classes must be at least 1");
    require(data.class_weight.size() == static_cast<std::size_t>(data.n_classes),
            "class_weight must have one entry per class");
    require(data.row_weight.empty() || data.row_weight.size() == data.n_rows, "row_weight must have one entry per row");
    require(std::all_of(data.row_weight.begin(), data.row_weight.end(), [](std::int64_t w) { return w >= 0; }),
            "row_weight must not be negative");
    require(std::all_of(data.class_weight.begin(), data.class_weight.end(), [](std::int64_t w) { return w >= 1; }),
            "class_weight must be at least 1");
    require(std::all_of(data.classes.begin(), data.classes.end(),
                        [&](std::int32_t c) { return c >= 0 && c < data.n_classes; }),
            "classes must be in [0, n_classes)");
}

void check_options(const Data& data, const Options& options) {
    require(std::all_of(options.objective.k.begin(), options.objective.k.end(), [](std::int32_t k) { return k >= 1; }),
            "k must be at least 1 at every level");
    require(options.objective.k.size() < 1000, "the depth must be below 1000");
    require(options.objective.min_rows >= 1 && options.objective.min_weight >= 1,
            "min_rows and min_weight must be at least 1");
    require(options.objective.cost_scale >= 1 && options.objective.leaf_penalty >= 0,
            "cost_scale must be positive, leaf_penalty not negative");
    require(options.tuning.threads >= 1, "threads must be at least 1");
    require(options.objective.lookahead >= 0, "lookahead must not be negative");
    const FeatureDraw& draw = options.objective.draw;
    require(draw.n_features == 0 || options.objective.lookahead == 0, "a lookahead needs all features at every node");
    require(draw.n_features == 0 || draw.of_column.size() == data.n_columns, "a draw must name a feature per column");
    require(std::all_of(draw.of_column.begin(), draw.of_column.end(),
                        [&](std::int32_t f) { return f >= 0 && static_cast<std::size_t>(f) < draw.n_all; }),
            "features must be in [0, n_all)");
    require(std::is_sorted(draw.of_column.begin(), draw.of_column.end()), "features must be in the order of columns");
    const std::vector<std::int32_t>& second_reading = options.objective.second_reading;
    check_readings(second_reading, data.n_columns);
    for (std::size_t j = 0; j < second_reading.size() && draw.n_features > 0; ++j) {
        require(draw.of_column[j] == draw.of_column[j + static_cast<std::size_t>(second_reading[j])],
                "both readings of a test must be columns of one feature");
    }
    require(options.objective.criterion != Criterion::user || options.objective.user_score,
            "criterion needs a function");
}

// Counts must be exact in a double, and costs of whole trees must fit 64 bits.
std::int64_t total_weight(const Data& data, const Options& options) {
    std::vector<double> totals(data.class_weight.size(), 0);
    for (std::size_t i = 0; i < data.n_rows; ++i) {
        const std::int64_t row = data.row_weight.empty() ? 1 : data.row_weight[i];
        totals[static_cast<std::size_t>(data.classes[i])] += static_cast<double>(row);
    }
    double total = 0;
    for (std::size_t c = 0; c < totals.size(); ++c) {
        total += totals[c] * static_cast<double>(data.class_weight[c]);
    }
    require(total > 0, "some row must have weight");
    require(total < 0x1p53, "the total weight must be below 2^53");
    // A subtree never costs more than a leaf in its place, so no sum exceeds that of two leaves.
    const double most = total * static_cast<double>(options.objective.cost_scale) +
                        2 * static_cast<double>(options.objective.leaf_penalty);
    require(most < static_cast<double>(kInfinity), "the total weight, cost_scale or leaf_penalty is too large");
    return static_cast<std::int64_t>(total);
}

}  // namespace

std::int64_t validate(const Data& data, const Options& options) {
    check_rows(data);
    check_columns(data);
    check_options(data, options);
    check_groups(data, options.objective);
    return total_weight(data, options);
}

}  // namespace topk
