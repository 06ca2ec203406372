// Node by node: the errors of every column, then the keys, then the k best keys.
#include "topk/remote/ranking.hpp"

#include <algorithm>
#include <limits>

#include "topk/base/require.hpp"
#include "topk/base/score_key.hpp"
#include "topk/base/validate.hpp"
#include "topk/candidates/candidates.hpp"
#include "topk/score/scoring.hpp"

namespace topk {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

// One node of the arrays.
class NodeView {
  public:
    NodeView(const NodeCounts& nodes, std::size_t i, std::int64_t min_weight)
        : nodes_(nodes), i_(i), min_weight_(min_weight) {
        for (std::size_t c = 0; c < nodes.n_classes; ++c) {
            if (const std::int64_t total = nodes.totals[i * nodes.n_classes + c]; total > 0) {
                counts_.rows.push_back(nodes.counts.data() + (i * nodes.n_classes + c) * nodes.n_columns);
                counts_.totals.push_back(total);
                counts_.class_index.push_back(static_cast<std::int32_t>(c));
            }
        }
    }

    const Counts<std::int64_t>& counts() const { return counts_; }
    bool is_usable(std::size_t column) const {
        return nodes_.usable.empty() || nodes_.usable[i_ * nodes_.n_columns + column] != 0;
    }

    // Return the errors of a split on the column; kNone if it cannot be split there.
    std::int64_t errors(std::size_t column) const {
        std::int64_t weight[2] = {0, 0};
        std::int64_t heaviest[2] = {0, 0};
        for (std::size_t c = 0; c < counts_.rows.size(); ++c) {
            const std::int64_t on_true = counts_.rows[c][column];
            const std::int64_t on_false = counts_.totals[c] - on_true;
            weight[0] += on_false;
            weight[1] += on_true;
            heaviest[0] = std::max(heaviest[0], on_false);
            heaviest[1] = std::max(heaviest[1], on_true);
        }
        const bool splits = std::min(weight[0], weight[1]) >= min_weight_ && is_usable(column);
        return splits ? weight[0] + weight[1] - heaviest[0] - heaviest[1] : kNone;
    }

  private:
    const NodeCounts& nodes_;
    std::size_t i_;
    std::int64_t min_weight_;
    Counts<std::int64_t> counts_;
};

void check_sizes(const NodeCounts& nodes, std::span<const std::int64_t> k, std::span<const std::int64_t> limit) {
    const std::size_t n = nodes.n_nodes;
    require(nodes.counts.size() == n * nodes.n_classes * nodes.n_columns &&
                nodes.totals.size() == n * nodes.n_classes && limit.size() == n && k.size() == n &&
                (nodes.usable.empty() || nodes.usable.size() == n * nodes.n_columns),
            "counts, totals, usable, k and limit must be of the same nodes");
    require(nodes.n_columns < static_cast<std::size_t>(kMaxColumns), "n_columns must be below 2^24 - 1");
    require(std::all_of(k.begin(), k.end(), [](std::int64_t places) { return places >= 1; }), "k must be at least 1");
}

// Terms are looked up by count, so an impossible count would be outside of the table.
void check_counts(const NodeCounts& nodes, std::int64_t total_weight) {
    require(total_weight >= 0 && total_weight < std::int64_t{1} << 53, "total_weight must be in [0, 2^53)");
    for (std::size_t i = 0; i < nodes.n_nodes; ++i) {
        std::int64_t rest = total_weight;
        for (std::size_t c = 0; c < nodes.n_classes; ++c) {
            const std::int64_t total = nodes.totals[i * nodes.n_classes + c];
            require(total >= 0 && total <= rest, "totals must not be negative, nor be more than total_weight");
            rest -= total;
            const auto row = nodes.counts.subspan((i * nodes.n_classes + c) * nodes.n_columns, nodes.n_columns);
            const bool possible = std::all_of(row.begin(), row.end(), [&](auto n) { return n >= 0 && n <= total; });
            require(possible, "counts must be in [0, total] of their class");
        }
    }
}

}  // namespace

Ranked rank_columns(const NodeCounts& nodes, const Objective& objective, std::span<const std::int64_t> k,
                    bool every_column, std::span<const std::int64_t> limit, std::int64_t total_weight,
                    const Kernels& kernels) {
    check_sizes(nodes, k, limit);
    check_counts(nodes, total_weight);
    check_readings(objective.second_reading, nodes.n_columns);
    require(objective.min_weight >= 1, "min_weight must be at least 1");
    require(objective.criterion != Criterion::user, "criterion must be entropy, gini, sqrt or gain_ratio, got user");
    const Scorer scorer(objective, nodes.n_columns, static_cast<std::int32_t>(nodes.n_classes), total_weight,
                        objective.min_weight, kernels);
    Ranked ranked;
    ranked.fewest.assign(nodes.n_nodes, kNone);
    ranked.width = nodes.n_columns;
    if (!every_column && nodes.n_nodes > 0) {
        const auto places = static_cast<std::size_t>(*std::max_element(k.begin(), k.end()));
        ranked.width = std::min(places * (objective.second_reading.empty() ? 1 : 2), nodes.n_columns);
    }
    ranked.columns.assign(nodes.n_nodes * ranked.width, -1);
    ranked.errors.assign(nodes.n_nodes * ranked.width, 0);
    std::vector<std::int64_t> errors(nodes.n_columns);
    std::vector<ScoreKey> keys(nodes.n_columns);
    std::vector<std::int64_t> best;
    for (std::size_t i = 0; i < nodes.n_nodes; ++i) {
        const NodeView node(nodes, i, objective.min_weight);
        for (std::size_t j = 0; j < nodes.n_columns; ++j) {
            errors[j] = node.errors(j);
            ranked.fewest[i] = std::min(ranked.fewest[i], errors[j]);
        }
        if (ranked.fewest[i] >= limit[i]) {
            continue;
        }
        scorer.all_keys(node.counts(), nodes.n_columns, keys.data());
        for (std::size_t j = 0; j < nodes.n_columns; ++j) {
            keys[j] = errors[j] == kNone ? kNoScoreKey : keys[j];
        }
        const auto places = std::min(static_cast<std::size_t>(k[i]), nodes.n_columns);
        if (places < nodes.n_columns) {
            scorer.drop_equal_readings(objective.second_reading, keys.data());
        }
        best_keys(keys.data(), nodes.n_columns, {every_column ? nodes.n_columns : places, objective.second_reading},
                  best);
        for (std::size_t r = 0; r < best.size(); ++r) {
            const std::int32_t column = column_of(best[r]);
            ranked.columns[i * ranked.width + r] = column;
            ranked.errors[i * ranked.width + r] = errors[static_cast<std::size_t>(column)];
        }
    }
    return ranked;
}

}  // namespace topk
