// The criteria, and the table that makes entropy cheap.
#include "topk/score/scoring.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "topk/base/require.hpp"
#include "topk/kernels/xlog2x.hpp"
#include "topk/parallel/stop.hpp"
#include "topk/score/feature_draw.hpp"

namespace topk {
namespace {

std::int64_t round_to_integer(double x) { return static_cast<std::int64_t>(std::nearbyint(x)); }

}  // namespace

std::int64_t xlog2x(std::int64_t n, double unit) { return xlog2x_of(static_cast<double>(n), unit); }

Scorer::Scorer(const Objective& objective, std::size_t n_columns, std::int32_t n_classes, std::int64_t total_weight,
               std::int64_t min_side, const Kernels& kernels, std::int64_t table_size)
    : objective_(objective),
      kernels_(kernels),
      n_columns_(n_columns),
      n_classes_(n_classes),
      min_side_(min_side),
      unit_(std::ldexp(1.0,
                       kFixedPointBits - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(total_weight))))) {
    if (objective.criterion == Criterion::entropy || objective.criterion == Criterion::gain_ratio) {
        table_.resize(static_cast<std::size_t>(std::min(total_weight + 1, table_size)));
        kernels.fill_xlog2x(unit_, table_.size(), table_.data());
    }
}

std::size_t Scorer::work(std::size_t n_classes) const {
    return objective_.criterion == Criterion::user ? Ticker::kWorkPerCheck : 8 * n_columns_ * n_classes;
}

template <class Count>
void Scorer::draw(const Counts<Count>& counts, ScoreKey* keys) const {
    if (objective_.draw.n_features > 0) {
        draw_features(objective_.draw, draw_hash(objective_.draw.seed, counts.class_index, counts.totals), keys);
    }
}

void Scorer::keys(const Counts<std::int32_t>& counts, std::size_t padded_columns, ScoreKey* keys) const {
    all_keys(counts, padded_columns, keys);
    draw(counts, keys);
    drop_equal_readings(objective_.second_reading, keys);
}

void Scorer::all_keys(const Counts<std::int32_t>& counts, std::size_t padded_columns, ScoreKey* keys) const {
    if (objective_.criterion == Criterion::gain_ratio || objective_.criterion == Criterion::user) {
        slow_keys(counts, padded_columns, keys);
        return;
    }
    const auto [totals, total, whole] = node_terms(counts);
    // min_side may not fit 32 bits. Any value above the total rules out all columns.
    const auto min_side = static_cast<std::int32_t>(std::min<std::int64_t>(min_side_, total + 1));
    const CountTable table = {counts.rows.data(), counts.totals.data(), counts.rows.size()};
    if (objective_.criterion == Criterion::gini) {
        kernels_.gini_score_keys(table, whole, unit_, min_side, padded_columns, keys);
    } else if (objective_.criterion == Criterion::sqrt) {
        kernels_.sqrt_score_keys(table, whole, unit_, min_side, padded_columns, keys);
    } else if (total < static_cast<std::int64_t>(table_.size())) {
        kernels_.entropy_score_keys(table, {table_.data(), whole}, min_side, padded_columns, keys);
    } else {
        kernels_.large_entropy_score_keys(table, whole, unit_, min_side, padded_columns, keys);
    }
    if (counts.n_true != nullptr) {
        for (std::size_t j = 0; j < padded_columns; ++j) {
            keys[j] = has_rows(counts, j) ? keys[j] : kNoScoreKey;
        }
    }
}

void Scorer::keys(const Counts<std::int64_t>& counts, std::size_t padded_columns, ScoreKey* keys) const {
    all_keys(counts, padded_columns, keys);
    draw(counts, keys);
    drop_equal_readings(objective_.second_reading, keys);
}

void Scorer::drop_equal_readings(std::span<const std::int32_t> second_reading, ScoreKey* keys) {
    for (std::size_t j = 0; j < second_reading.size(); ++j) {
        ScoreKey& second = keys[j + static_cast<std::size_t>(second_reading[j])];
        if (second_reading[j] > 0 && score_of(keys[j]) == score_of(second)) {
            second = kNoScoreKey;
        }
    }
}

template <class Count>
bool Scorer::has_rows(const Counts<Count>& counts, std::size_t column) const {
    return std::min<std::int64_t>(counts.n_true[column], counts.n_rows - counts.n_true[column]) >= objective_.min_rows;
}

template <class Count>
bool Scorer::admissible(const Counts<Count>& counts, std::size_t column, std::int64_t true_weight,
                        std::int64_t false_weight) const {
    return std::min(true_weight, false_weight) >= min_side_ && (counts.n_true == nullptr || has_rows(counts, column));
}

// Return the criterion's value of one side: higher is purer. The gain of a split is both sides minus the whole.
std::int64_t Scorer::side(const std::int64_t* counts, std::size_t n_classes, std::int64_t total) const {
    if (objective_.criterion == Criterion::gini) {
        double squares = 0;
        for (std::size_t c = 0; c < n_classes; ++c) {
            squares += static_cast<double>(counts[c]) * static_cast<double>(counts[c]);
        }
        return round_to_integer(squares / static_cast<double>(std::max<std::int64_t>(total, 1)) * unit_);
    }
    std::int64_t sum = 0;
    if (objective_.criterion == Criterion::sqrt) {
        for (std::size_t c = 0; c < n_classes; ++c) {
            const double product = static_cast<double>(counts[c]) * static_cast<double>(total - counts[c]);
            sum -= round_to_integer(std::sqrt(product) * unit_);
        }
        return sum;
    }
    for (std::size_t c = 0; c < n_classes; ++c) {
        sum += term(counts[c]);
    }
    return sum - term(total);
}

// A gain that rounds to zero is zero. Otherwise the ratio is rounded, not the gain: where every class is on one side,
// the gain is made of the same terms as the information of the split, and the ratio is exactly one.
std::int64_t Scorer::score(std::int64_t gain, std::int64_t total, std::int64_t n_true) const {
    const std::int64_t rounded = round_gain(gain);
    if (objective_.criterion != Criterion::gain_ratio || rounded == 0) {
        return rounded;
    }
    const std::int64_t split = std::max<std::int64_t>(term(total) - (term(total - n_true) + term(n_true)), 1);
    return round_to_integer(static_cast<double>(gain) / static_cast<double>(split) * std::ldexp(1.0, kRatioBits));
}

template <class Count>
NodeTerms Scorer::node_terms(const Counts<Count>& counts) const {
    NodeTerms node;
    node.totals.assign(counts.totals.begin(), counts.totals.end());
    node.total = std::accumulate(node.totals.begin(), node.totals.end(), std::int64_t{0});
    node.whole = side(node.totals.data(), node.totals.size(), node.total);
    return node;
}

template NodeTerms Scorer::node_terms(const Counts<std::int32_t>&) const;
template NodeTerms Scorer::node_terms(const Counts<std::int64_t>&) const;

std::int64_t Scorer::split_score(const NodeTerms& node, const std::int64_t* left) const {
    if (objective_.criterion == Criterion::entropy) {
        std::int64_t gain = -node.whole;
        std::int64_t n_left = 0;
        for (std::size_t c = 0; c < node.totals.size(); ++c) {
            gain += term(left[c]) + term(node.totals[c] - left[c]);
            n_left += left[c];
        }
        return round_gain(gain - (term(n_left) + term(node.total - n_left)));
    }
    const std::int64_t n_left = std::accumulate(left, left + node.totals.size(), std::int64_t{0});
    std::vector<std::int64_t> right(node.totals);
    for (std::size_t c = 0; c < right.size(); ++c) {
        right[c] -= left[c];
    }
    const std::int64_t gain =
        side(left, right.size(), n_left) + side(right.data(), right.size(), node.total - n_left) - node.whole;
    return score(gain, node.total, n_left);
}

bool Scorer::block_bounds(const Counts<std::int32_t>& counts, const NodeTerms& node, NestedColumns nested,
                          std::int64_t* out) const {
    if (objective_.criterion != Criterion::entropy || node.total >= static_cast<std::int64_t>(table_.size())) {
        return false;
    }
    const CountTable table = {counts.rows.data(), counts.totals.data(), counts.rows.size()};
    kernels_.entropy_block_bounds(table, {table_.data(), node.whole}, nested, out);
    return true;
}

std::int64_t Scorer::score_bound(const NodeTerms& node, const std::int64_t* low, const std::int64_t* high) const {
    if (objective_.criterion == Criterion::entropy) {
        return entropy_bound(node, low, high);
    }
    return objective_.criterion == Criterion::gini ? gini_bound(node, low, high) : INT64_MAX;
}

// As in the kernel, where the lemma is.
std::int64_t Scorer::entropy_bound(const NodeTerms& node, const std::int64_t* low, const std::int64_t* high) const {
    std::int64_t n_low = 0;
    std::int64_t n_high = 0;
    for (std::size_t c = 0; c < node.totals.size(); ++c) {
        n_low += low[c];
        n_high += high[c];
    }
    const std::int64_t middle = std::min((n_low + n_high) / 2, node.total - 1);
    const std::int64_t at_middle = term(middle) + term(node.total - middle);
    const std::int64_t slope = term(middle + 1) + term(node.total - middle - 1) - at_middle;
    std::int64_t bound = slope * middle - at_middle - node.whole;
    for (std::size_t c = 0; c < node.totals.size(); ++c) {
        const std::int64_t at_low = term(low[c]) + term(node.totals[c] - low[c]) - slope * low[c];
        const std::int64_t at_high = term(high[c]) + term(node.totals[c] - high[c]) - slope * high[c];
        bound += std::max(at_low, at_high);
    }
    const auto n_terms = static_cast<std::int64_t>(2 * node.totals.size() + 4);
    return round_gain(bound + n_terms + 4 * (n_high - n_low));
}

// The gain is the sum of l[c]^2 / n + (t[c] - l[c])^2 / (total - n) over the classes, minus what all splits have in
// common: higher with the smallest n and total - n, and as a function of l[c] highest at an end of its range.
std::int64_t Scorer::gini_bound(const NodeTerms& node, const std::int64_t* low, const std::int64_t* high) const {
    const auto sum = [&](const std::int64_t* counts) {
        return static_cast<double>(std::accumulate(counts, counts + node.totals.size(), std::int64_t{0}));
    };
    const double left = std::max(sum(low), 1.0);
    const double right = std::max(static_cast<double>(node.total) - sum(high), 1.0);
    double bound = 0;
    for (std::size_t c = 0; c < node.totals.size(); ++c) {
        const auto at = [&](std::int64_t n) {
            const auto l = static_cast<double>(n);
            const auto r = static_cast<double>(node.totals[c] - n);
            return l * l / left + r * r / right;
        };
        bound += std::max(at(low[c]), at(high[c]));
    }
    constexpr double kRounding = 1 + 1e-9;
    return round_gain(round_to_integer(std::min(bound * unit_ * kRounding, 0x1p60)) + 4 - node.whole);
}

template <class Count>
void Scorer::slow_keys(const Counts<Count>& counts, std::size_t padded_columns, ScoreKey* keys) const {
    std::fill_n(keys, padded_columns, kNoScoreKey);
    if (objective_.criterion == Criterion::user) {
        user_keys(counts, keys);
        return;
    }
    const std::size_t n_classes = counts.rows.size();
    const std::vector<std::int64_t> totals(counts.totals.begin(), counts.totals.end());
    std::int64_t total = 0;
    for (const std::int64_t t : totals) {
        total += t;
    }
    const std::int64_t whole = side(totals.data(), n_classes, total);
    std::vector<std::int64_t> left(n_classes);
    std::vector<std::int64_t> right(n_classes);
    for (std::size_t j = 0; j < padded_columns; ++j) {
        std::int64_t n_true = 0;
        for (std::size_t c = 0; c < n_classes; ++c) {
            right[c] = counts.rows[c][j];
            left[c] = totals[c] - right[c];
            n_true += right[c];
        }
        if (admissible(counts, j, n_true, total - n_true)) {
            const std::int64_t gain =
                side(left.data(), n_classes, total - n_true) + side(right.data(), n_classes, n_true) - whole;
            keys[j] = make_score_key(score(gain, total, n_true), j);
        }
    }
}

// The scores of the user's function enter the core here, so they are checked here.
std::vector<double> Scorer::call_user_score(const std::vector<double>& left, const std::vector<double>& right,
                                            const std::vector<bool>& usable) const {
    const std::vector<double> scores = objective_.user_score(left, right, usable);
    require(scores.size() == usable.size(), "criterion must return one score per column");
    for (std::size_t j = 0; j < scores.size(); ++j) {
        require(!usable[j] || !std::isnan(scores[j]), "criterion must return numbers, got NaN");
    }
    return scores;
}

// The user's scores are compared as they are: a key holds the number of smaller distinct scores in place of the score.
template <class Count>
void Scorer::user_keys(const Counts<Count>& counts, ScoreKey* keys) const {
    const auto n_classes = static_cast<std::size_t>(n_classes_);
    std::vector<double> left(n_columns_ * n_classes, 0.0);
    std::vector<double> right(n_columns_ * n_classes, 0.0);
    std::vector<bool> usable(n_columns_);
    for (std::size_t j = 0; j < n_columns_; ++j) {
        std::int64_t n_true = 0;
        std::int64_t n_false = 0;
        for (std::size_t c = 0; c < counts.rows.size(); ++c) {
            const std::size_t at = j * n_classes + static_cast<std::size_t>(counts.class_index[c]);
            right[at] = static_cast<double>(counts.rows[c][j]) * objective_.user_weight_unit;
            left[at] = static_cast<double>(counts.totals[c] - counts.rows[c][j]) * objective_.user_weight_unit;
            n_true += counts.rows[c][j];
            n_false += counts.totals[c] - counts.rows[c][j];
        }
        usable[j] = admissible(counts, j, n_true, n_false);
    }
    const std::vector<double> scores = call_user_score(left, right, usable);
    std::vector<std::size_t> order;
    for (std::size_t j = 0; j < n_columns_; ++j) {
        if (usable[j]) {
            order.push_back(j);
        }
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
    std::int64_t level = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        level += i > 0 && scores[order[i]] > scores[order[i - 1]] ? 1 : 0;
        keys[order[i]] = make_score_key(level, order[i]);
    }
}

}  // namespace topk
