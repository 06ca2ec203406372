// Draw features, count their columns, and gather the counts.
#include "topk/candidates/drawn_columns.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "topk/score/feature_draw.hpp"

namespace topk {
namespace {

template <class Count>
void add(const Count* row, std::size_t n, Count* out) {
    for (std::size_t j = 0; j < n; ++j) {
        out[j] += row[j];
    }
}

}  // namespace

template <class Count>
DrawnColumns<Count>::DrawnColumns(const Objective& objective, std::int64_t min_weight)
    : draw_(objective.draw), second_reading_(objective.second_reading), min_weight_(min_weight) {
    early_.resize(draw_.n_all);
    late_.resize(draw_.n_all);
    first_.assign(draw_.n_all + 1, 0);
    for (const std::int32_t feature : draw_.of_column) {
        ++first_[static_cast<std::size_t>(feature) + 1];
    }
    for (std::size_t f = 0; f < draw_.n_all; ++f) {
        first_[f + 1] += first_[f];
    }
}

template <class Count>
void DrawnColumns<Count>::open(const Node<Count>& node) {
    node_ = &node;
    const std::size_t n_columns = node.matrix->n_columns;
    Count* n_true = node_n_true_.ensure(n_columns);
    std::fill_n(n_true, n_columns, Count{0});
    for (const Count* row : node.counts.rows) {
        add(row, n_columns, n_true);
    }
    splitting_.clear();
    for (std::size_t f = 0; f < draw_.n_all; ++f) {
        const auto splits = [&](Count n) { return std::min(n, node.whole.weight - n) >= min_weight_; };
        if (std::any_of(n_true + first_[f], n_true + first_[f + 1], splits)) {
            splitting_.push_back(f);
        }
    }
    small_rows_.ensure(node.counts.rows.size() * n_columns);
    small_n_true_.ensure(n_columns);
    counted_.resize(n_columns / kColumnPadding, 0);
}

template <class Count>
void DrawnColumns<Count>::take_node() {
    counts_.totals = node_->counts.totals;
    counts_.class_index = node_->counts.class_index;
    small_totals_.assign(counts_.totals.size(), 0);
    draw([&](std::span<const Number> next) {
        for (const Number& number : next) {
            features_.push_back(number.second);
        }
    });
    gather(1);  // as the larger child of a split with no rows on the other side
}

template <class Count>
std::int32_t DrawnColumns<Count>::column(std::size_t drawn) const {
    for (const std::size_t feature : features_) {
        const std::size_t n = first_[feature + 1] - first_[feature];
        if (drawn < n) {
            return static_cast<std::int32_t>(first_[feature] + drawn);
        }
        drawn -= n;
    }
    return -1;
}

template <class Count>
void DrawnColumns<Count>::open(const Split<Count>& split_on, const Subset& small) {
    ++n_splits_;
    small_ = &small;
    small_totals_.resize(node_->counts.rows.size());
    for (std::size_t c = 0; c < small_totals_.size(); ++c) {
        small_totals_[c] = split_on.total(c, split_on.small_side());
    }
    weight_[0] = split_on.side(0).weight;
    weight_[1] = split_on.side(1).weight;
}

template <class Count>
void DrawnColumns<Count>::count(int i, Counter<Count>& counter) {
    set_totals(i);
    draw([&](std::span<const Number> next) {
        count_features(next, counter);
        for (const Number& number : next) {
            if (can_split(i, number.second)) {
                features_.push_back(number.second);
            }
        }
    });
    gather(i);
}

template <class Count>
void DrawnColumns<Count>::set_totals(int i) {
    counts_.totals.clear();
    counts_.class_index.clear();
    for (std::size_t c = 0; c < small_totals_.size(); ++c) {
        const Count total = i == 0 ? small_totals_[c] : node_->counts.totals[c] - small_totals_[c];
        if (total > 0) {
            counts_.totals.push_back(total);
            counts_.class_index.push_back(node_->counts.class_index[c]);
        }
    }
}

// Features with low numbers are drawn, so only these are sorted, unless too many of them cannot split. The numbers are
// uniform; 1.5 times the features needed, plus three, are nearly always enough.
template <class Count>
void DrawnColumns<Count>::number_features() {
    const std::uint64_t hash = draw_hash(draw_.seed, counts_.class_index, counts_.totals);
    const double part = (static_cast<double>(draw_.n_features) * 1.5 + 3) / static_cast<double>(splitting_.size());
    const std::uint64_t limit = part < 1 ? static_cast<std::uint64_t>(std::ldexp(part, 64)) : UINT64_MAX;
    n_early_ = n_late_ = n_taken_ = 0;
    for (const std::size_t feature : splitting_) {  // without a branch, which would be mispredicted often
        const Number number = {draw_number(hash, feature), feature};
        const bool is_early = number.first <= limit;
        early_[n_early_] = number;
        late_[n_late_] = number;
        n_early_ += is_early ? 1 : 0;
        n_late_ += is_early ? 0 : 1;
    }
}

// Return the next features by number, at most n, sorted by column; none if there are no more.
template <class Count>
std::span<const typename DrawnColumns<Count>::Number> DrawnColumns<Count>::next_features(std::size_t n) {
    if (n_taken_ == n_early_) {
        std::swap(early_, late_);
        n_early_ = std::exchange(n_late_, 0);
        n_taken_ = 0;
    }
    const auto first = early_.begin() + static_cast<std::ptrdiff_t>(n_taken_);
    const auto end = early_.begin() + static_cast<std::ptrdiff_t>(n_early_);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(n, n_early_ - n_taken_));
    std::nth_element(first, last, end);
    std::sort(first, last, [](const Number& a, const Number& b) { return a.second < b.second; });
    n_taken_ += static_cast<std::size_t>(last - first);
    return {first, last};
}

// Draw features. `take(features)` appends to features_ those of the next features that are drawn.
template <class Count>
template <class Take>
void DrawnColumns<Count>::draw(Take take) {
    number_features();
    features_.clear();
    while (features_.size() < draw_.n_features) {
        const std::span<const Number> next = next_features(draw_.n_features - features_.size());
        if (next.empty()) {
            break;
        }
        take(next);
    }
    std::sort(features_.begin(), features_.end());
}

// Count the blocks of columns that overlap with the features, unless they are counted already.
template <class Count>
void DrawnColumns<Count>::count_features(std::span<const Number> features, Counter<Count>& counter) {
    ranges_.clear();
    for (const Number& number : features) {
        const std::size_t end = (first_[number.second + 1] + kColumnPadding - 1) / kColumnPadding;
        for (std::size_t block = first_[number.second] / kColumnPadding; block < end; ++block) {
            if (counted_[block] == n_splits_) {
                continue;
            }
            counted_[block] = n_splits_;
            const std::size_t begin = block * kColumnPadding;
            if (ranges_.empty() || ranges_.back().end != begin) {
                ranges_.push_back({begin, begin});
            }
            ranges_.back().end += kColumnPadding;
        }
    }
    for (const ColumnRange range : ranges_) {
        std::fill_n(small_n_true_.data() + range.begin, range.size(), Count{0});
    }
    std::size_t span = 0;
    for (std::size_t c = 0; c < small_totals_.size(); ++c) {
        if (small_totals_[c] > 0) {
            Count* row = small_rows_.data() + c * node_->matrix->n_columns;
            counter.weights(*node_->matrix, *small_, ranges_, span, row);
            for (const ColumnRange range : ranges_) {
                add(row + range.begin, range.size(), small_n_true_.data() + range.begin);
            }
        }
    }
}

template <class Count>
bool DrawnColumns<Count>::can_split(int i, std::size_t feature) const {
    bool any = false;
    for (std::size_t j = first_[feature]; j < first_[feature + 1]; ++j) {
        const Count n_true = i == 0 ? small_n_true_[j] : node_n_true_[j] - small_n_true_[j];
        any |= std::min(n_true, weight_[i] - n_true) >= min_weight_;
    }
    return any;
}

// Gather the counts of the drawn features' columns. Columns beyond the last one are padding: never true.
template <class Count>
void DrawnColumns<Count>::gather(int i) {
    std::size_t n = 0;
    drawn_readings_.clear();
    for (const std::size_t feature : features_) {
        n += first_[feature + 1] - first_[feature];
        if (!second_reading_.empty()) {  // offsets stay the same: both readings are columns of one feature
            drawn_readings_.insert(drawn_readings_.end(),
                                   second_reading_.begin() + static_cast<std::ptrdiff_t>(first_[feature]),
                                   second_reading_.begin() + static_cast<std::ptrdiff_t>(first_[feature + 1]));
        }
    }
    n_columns_ = (n + kColumnPadding - 1) / kColumnPadding * kColumnPadding;
    Count* out = storage_.ensure(counts_.totals.size() * n_columns_);
    counts_.rows.clear();
    for (std::size_t c = 0; c < small_totals_.size(); ++c) {
        const bool is_in_small = small_totals_[c] > 0;
        if (i == 0 ? !is_in_small : node_->counts.totals[c] == small_totals_[c]) {
            continue;
        }
        const Count* whole = node_->counts.rows[c];
        const Count* small = small_rows_.data() + c * node_->matrix->n_columns;
        Count* row = out;
        for (const std::size_t feature : features_) {
            for (std::size_t j = first_[feature]; j < first_[feature + 1]; ++j) {
                *row++ = i == 0 ? small[j] : whole[j] - (is_in_small ? small[j] : 0);
            }
        }
        std::fill(row, out + n_columns_, Count{0});
        counts_.rows.push_back(out);
        out += n_columns_;
    }
}

template class DrawnColumns<std::int32_t>;
template class DrawnColumns<std::int64_t>;

}  // namespace topk
