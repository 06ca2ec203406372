// Count, bound and rank the columns of the last level.
#include "topk/candidates/last_level.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace topk {
namespace {

// This many columns with the fewest errors are tested for being among the k best before the k best are selected.
constexpr int kRankTests = 4;

// Errors of one child split on one column: the slow twin of Kernels::last_level, for counts of any width.
template <class Count>
struct ChildErrors {
    Count weight = 0, n_true = 0, true_max = 0, false_max = 0;

    void add(Count n_true_of_class, Count total) {
        weight += total;
        n_true += n_true_of_class;
        true_max = std::max(true_max, n_true_of_class);
        false_max = std::max(false_max, static_cast<Count>(total - n_true_of_class));
    }
    Count errors(std::int64_t min_side) const {
        const bool too_small = n_true < min_side || weight - n_true < min_side;
        return too_small ? std::numeric_limits<Count>::max() : static_cast<Count>(weight - true_max - false_max);
    }
};

}  // namespace

bool has_weights(const Data& data) {
    return !data.row_weight.empty() ||
           std::any_of(data.class_weight.begin(), data.class_weight.end(), [](std::int64_t w) { return w != 1; });
}

SideLimits side_limits(const Data& data, const Objective& objective) {
    const bool weighted = has_weights(data);
    const bool track_rows = weighted && objective.min_rows > 1;
    const std::int64_t min_weight = std::max(objective.min_weight, weighted ? 1 : objective.min_rows);
    std::int64_t too_few = 0;
    if (track_rows) {
        const auto most = [](std::span<const std::int64_t> weights) {
            return weights.empty() ? 1.0 : static_cast<double>(*std::max_element(weights.begin(), weights.end()));
        };
        const double weight =
            static_cast<double>(objective.min_rows - 1) * most(data.row_weight) * most(data.class_weight);
        too_few = static_cast<std::int64_t>(std::min(weight, 0x1p60));
    }
    return {.min_weight = min_weight,
            .min_rows = objective.min_rows,
            .track_rows = track_rows,
            .too_little = std::max(min_weight - 1, too_few)};
}

template <class Count>
void LastLevel<Count>::begin(const Node<Count>& node) {
    ahead_columns_.clear();
    if (draws()) {
        drawn_->open(node);
    }
}

template <class Count>
void LastLevel<Count>::open(const Node<Count>& node, const Split<Count>& split_on) {
    split(*node.matrix, node.subset, split_on.bits(), split_on.small_side(), small_);
    if (draws()) {
        drawn_->open(split_on, small_);
    }
}

template <class Count>
Fewest<Count> LastLevel<Count>::count(const Node<Count>& node, const Split<Count>& split_on, Counter<Count>& counter) {
    count_small(node, split_on, counter);
    return errors(node.counts, node.matrix->n_columns);
}

template <class Count>
Fewest<Count> LastLevel<Count>::take(const Node<Count>& node, const Split<Count>& split_on, const Count* false_counts) {
    const std::size_t n_columns = node.matrix->n_columns;
    const std::size_t n_classes = node.counts.rows.size();
    Count* storage = storage_.ensure(n_classes * n_columns);
    small_rows_.assign(n_classes, nullptr);
    small_totals_.resize(n_classes);
    for (std::size_t c = 0; c < n_classes; ++c) {
        small_totals_[c] = split_on.total(c, split_on.small_side());
        if (small_totals_[c] == 0) {
            continue;
        }
        small_rows_[c] = false_counts + c * n_columns;
        if (split_on.small_side()) {
            Count* row = storage + c * n_columns;
            for (std::size_t j = 0; j < n_columns; ++j) {
                row[j] = node.counts.rows[c][j] - small_rows_[c][j];
            }
            small_rows_[c] = row;
        }
    }
    return errors(node.counts, n_columns);
}

template <class Count>
Fewest<Count> LastLevel<Count>::errors(const Counts<Count>& counts, std::size_t n_columns) {
    errors_[0].ensure(n_columns);
    errors_[1].ensure(n_columns);
    if constexpr (std::is_same_v<Count, std::int32_t>) {
        if (!limits_.track_rows) {
            return fast_errors(counts, n_columns);
        }
    }
    return slow_errors(counts, n_columns);
}

// The counts are taken as those of the larger child of a split with no rows on the other side.
template <class Count>
Count LastLevel<Count>::fewest_errors(const Counts<Count>& counts, std::size_t n_columns) {
    small_rows_.assign(counts.rows.size(), nullptr);
    small_totals_.assign(counts.rows.size(), 0);
    return errors(counts, n_columns).of[1];
}

template <class Count>
void LastLevel<Count>::count_ahead(const Node<Count>& node, std::span<const std::int32_t> columns,
                                   Counter<Count>& counter) {
    const std::size_t n_columns = node.matrix->n_columns;
    const std::size_t n_classes = node.counts.rows.size();
    ahead_columns_.assign(columns.begin(), columns.end());
    Count* storage = ahead_storage_.ensure(columns.size() * n_classes * n_columns);
    std::vector<Side> sides;
    for (const std::int32_t column : columns) {
        const Split<Count> split_on(node, column);
        sides.push_back({split_on.bits(), split_on.small_side()});
    }
    std::vector<Count*> out(columns.size());
    for (std::size_t c = 0, span = 0; c < n_classes; ++c) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            out[i] = storage + (i * n_classes + c) * n_columns;
        }
        counter.weights_of_sides(*node.matrix, node.subset, sides, span, out.data());
    }
}

template <class Count>
void LastLevel<Count>::count_small(const Node<Count>& node, const Split<Count>& split_on, Counter<Count>& counter) {
    const std::size_t n_columns = node.matrix->n_columns;
    const std::size_t n_classes = node.counts.rows.size();
    const auto ahead = std::find(ahead_columns_.begin(), ahead_columns_.end(), split_on.column());
    const bool is_counted = ahead != ahead_columns_.end();
    const auto nth = static_cast<std::size_t>(ahead - ahead_columns_.begin());
    Count* storage =
        is_counted ? ahead_storage_.data() + nth * n_classes * n_columns : storage_.ensure(n_classes * n_columns);
    small_rows_.assign(n_classes, nullptr);
    small_totals_.resize(n_classes);
    std::size_t span = 0;
    for (std::size_t c = 0; c < n_classes; ++c) {
        small_totals_[c] = split_on.total(c, split_on.small_side());
        if (small_totals_[c] == 0) {
            continue;
        }
        Count* row = storage + c * n_columns;
        if (!is_counted) {
            counter.weights(*node.matrix, small_, span, row);
        }
        small_rows_[c] = row;
    }
    if (limits_.track_rows) {
        counter.rows(*node.matrix, small_, small_n_true_.ensure(n_columns));
        small_n_rows_ = static_cast<std::int64_t>(counter.n_rows(*node.matrix, small_));
    }
}

template <class Count>
Fewest<Count> LastLevel<Count>::fast_errors(const Counts<Count>& counts, std::size_t n_columns)
    requires std::is_same_v<Count, std::int32_t>
{
    PairTable table;
    table.parent_rows = counts.rows.data();
    table.small_rows = small_rows_.data();
    table.parent_totals = counts.totals.data();
    table.small_totals = small_totals_.data();
    table.n_classes = counts.rows.size();
    table.small_errors = errors_[0].data();
    table.large_errors = errors_[1].data();
    const auto min_side = static_cast<std::int32_t>(std::min<std::int64_t>(limits_.min_weight, INT32_MAX));
    const Minima minima = kernels_.last_level(table, min_side, n_columns);
    return {{minima.small, minima.large}, {minima.small_free, minima.large_free}};
}

template <class Count>
Fewest<Count> LastLevel<Count>::slow_errors(const Counts<Count>& counts, std::size_t n_columns) {
    constexpr Count kNone = std::numeric_limits<Count>::max();
    Fewest<Count> fewest = {{kNone, kNone}, {kNone, kNone}};
    for (std::size_t j = 0; j < n_columns; ++j) {
        ChildErrors<Count> child[2];
        for (std::size_t c = 0; c < counts.rows.size(); ++c) {
            const Count n_true = small_rows_[c] == nullptr ? Count{0} : small_rows_[c][j];
            child[0].add(n_true, small_totals_[c]);
            child[1].add(static_cast<Count>(counts.rows[c][j] - n_true),
                         static_cast<Count>(counts.totals[c] - small_totals_[c]));
        }
        for (int i = 0; i < 2; ++i) {
            errors_[i][j] = child[i].errors(limits_.min_weight);
            fewest.free[i] = std::min(fewest.free[i], child[i].errors(0));
        }
    }
    if (limits_.track_rows) {
        drop_small_sides(counts, n_columns);
    }
    for (int i = 0; i < 2; ++i) {
        fewest.of[i] = *std::min_element(errors_[i].data(), errors_[i].data() + n_columns);
    }
    return fewest;
}

template <class Count>
void LastLevel<Count>::drop_small_sides(const Counts<Count>& counts, std::size_t n_columns) {
    const std::int64_t n_rows[2] = {small_n_rows_, counts.n_rows - small_n_rows_};
    for (std::size_t j = 0; j < n_columns; ++j) {
        const std::int64_t n_true[2] = {small_n_true_[j], counts.n_true[j] - small_n_true_[j]};
        for (int i = 0; i < 2; ++i) {
            if (std::min(n_true[i], n_rows[i] - n_true[i]) < limits_.min_rows) {
                errors_[i][j] = std::numeric_limits<Count>::max();
            }
        }
    }
}

template <class Count>
const Counts<Count>& LastLevel<Count>::child_counts(const Node<Count>& node, int i) {
    small_counts_.rows.clear();
    small_counts_.totals.clear();
    small_counts_.class_index.clear();
    for (std::size_t c = 0; c < node.counts.rows.size(); ++c) {
        if (small_rows_[c] != nullptr) {
            small_counts_.rows.push_back(small_rows_[c]);
            small_counts_.totals.push_back(small_totals_[c]);
            small_counts_.class_index.push_back(node.counts.class_index[c]);
        }
    }
    small_counts_.n_true = limits_.track_rows ? small_n_true_.data() : nullptr;
    small_counts_.n_rows = small_n_rows_;
    if (i == 0) {
        return small_counts_;
    }
    subtract_node(node.counts, small_counts_, node.matrix->n_columns, large_);
    return large_.counts;
}

template <class Count>
Count LastLevel<Count>::best_of_k(const Node<Count>& node, const Split<Count>& split_on, int i, std::size_t k,
                                  Count fewest, Ticker& ticker) {
    const std::size_t n_padded = node.matrix->n_columns;
    const Counts<Count>& counts = child_counts(node, i);
    ticker.tick(scorer_.work(counts.rows.size()));
    scorer_.keys(counts, n_padded, keys_.ensure(n_padded));
    const Count* errors = errors_[i].data();
    const Places places = {k, second_reading_, distinct_ ? std::span<const std::int64_t>() : node.matrix->copies,
                           &kernels_};
    if (const std::optional<Count> best = best_by_rank(errors, n_padded, places, fewest)) {
        return *best;
    }
    if (!distinct_) {
        return best_of_selected(errors, n_padded, places);
    }
    const RowSet rows = {*node.matrix, node.subset, split_on.bits(), (i == 0) == split_on.small_side()};
    best_distinct_keys(keys_.data(), node.matrix->n_bits, places, counts, rows, scorer_.is_symmetric(), sorted_keys_);
    Count best = std::numeric_limits<Count>::max();
    for (const ScoreKey key : sorted_keys_) {
        best = std::min(best, errors[column_of(key)]);
    }
    return best;
}

template <class Count>
Count LastLevel<Count>::count_drawn(int i, Counter<Count>& counter) {
    drawn_->count(i, counter);
    const std::size_t n_columns = drawn_->n_columns();
    return n_columns > 0 ? fewest_errors(drawn_->counts(), n_columns) : std::numeric_limits<Count>::max();
}

template <class Count>
Count LastLevel<Count>::best_of_k_drawn(std::size_t k, Count fewest, Ticker& ticker) {
    const std::size_t n_columns = drawn_->n_columns();
    ticker.tick(scorer_.work(drawn_->counts().rows.size()));
    scorer_.all_keys(drawn_->counts(), n_columns, keys_.ensure(n_columns));
    scorer_.drop_equal_readings(drawn_->second_reading(), keys_.data());
    const Count* errors = errors_[1].data();
    const Places places = {k, drawn_->second_reading(), {}, &kernels_};
    const std::optional<Count> best = best_by_rank(errors, n_columns, places, fewest);
    return best ? *best : best_of_selected(errors, n_columns, places);
}

// Usually a column with the fewest errors is among the k best: its rank, found by one pass over the keys, is below k.
template <class Count>
std::optional<Count> LastLevel<Count>::best_by_rank(const Count* errors, std::size_t n_columns, Places places,
                                                    Count fewest) const {
    const ScoreKey* keys = keys_.data();
    const std::int64_t* copies = places.copies.empty() ? nullptr : places.copies.data();
    int tests = 0;
    for (std::size_t j = 0; j < n_columns && tests < kRankTests; ++j) {
        if (errors[j] == fewest && keys[j] != kNoScoreKey) {
            if (kernels_.count_greater(keys, copies, n_columns, keys[j]) < places.k) {
                return fewest;
            }
            ++tests;
        }
    }
    return std::nullopt;
}

// Return the fewest errors of the candidates.
template <class Count>
Count LastLevel<Count>::best_of_selected(const Count* errors, std::size_t n_columns, Places places) {
    const ScoreKey* keys = keys_.data();
    const ScoreKey lowest = lowest_candidate(keys, n_columns, places, sorted_keys_);
    Count best = std::numeric_limits<Count>::max();
    for (std::size_t j = 0; j < n_columns; ++j) {
        if (keys[j] >= lowest) {
            best = std::min(best, errors[j]);
        }
    }
    return best;
}

template class LastLevel<std::int32_t>;
template class LastLevel<std::int64_t>;

}  // namespace topk
