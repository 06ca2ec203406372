// The thresholds of ordered groups on one subset: weights at the ends of blocks, and the rows between them.
//
// The left side of a threshold has the rows that rank at most as high; in its second reading, the missing values too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "topk/base/memory.hpp"
#include "topk/base/types.hpp"
#include "topk/candidates/candidates.hpp"
#include "topk/candidates/last_level.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/node.hpp"

namespace topk {

// Weights on the left side of a split.
struct LeftSide {
    std::vector<std::int64_t> weights;  // per class of the subset
    std::int64_t total = 0;
    std::int64_t n_rows = 0;  // valid only if rows are tracked
};

template <class Count>
class OrderedView {
  public:
    OrderedView(const Data& data, SideLimits limits) : data_(data), limits_(limits) {}

    // Begin with counts of a subset, then with its rows: those of a node, or of one side of a split of it. What is
    // given must outlive the view's use.
    void open(const BitMatrix& matrix, const Counts<Count>& counts) {
        matrix_ = &matrix;
        counts_ = &counts;
        total_ = 0;
        place_.assign(static_cast<std::size_t>(data_.n_classes), 0);
        for (std::size_t c = 0; c < counts.totals.size(); ++c) {
            place_[static_cast<std::size_t>(counts.class_index[c])] = static_cast<std::uint32_t>(c);
            total_ += counts.totals[c];
        }
    }
    // Needed for walk(), has_row() and add_row().
    void set_rows(const RowSet& rows) {
        set_words();
        masks_.assign(matrix_->n_words, 0);
        const std::uint64_t flip = rows.side ? 0 : ~std::uint64_t{0};
        for (std::size_t i = 0; i < rows.subset.words.size(); ++i) {
            const std::uint32_t word = rows.subset.words[i];
            const std::uint64_t on = rows.column.data == nullptr ? ~std::uint64_t{0} : rows.column.word(word) ^ flip;
            masks_[word] = rows.subset.masks[i] & on;
        }
    }

    const BitMatrix& matrix() const { return *matrix_; }
    const Counts<Count>& counts() const { return *counts_; }
    std::int64_t total() const { return total_; }
    const OrderedRows::Grid& grid(std::size_t g) const { return matrix_->ordered.grids[g]; }

    bool has_row(std::uint32_t entry) const {
        const std::uint32_t position = entry & OrderedRows::kPosition;
        return (masks_[position / 64] >> (position % 64) & 1) != 0;
    }

    // Are there missing values among the group's rows? Only then do the readings of a threshold differ.
    bool has_missing(std::size_t g) const {
        const OrderedRows::Grid& own = grid(g);
        return own.n_present > 0 && own.n_present < matrix_->ordered.n_entries &&
               std::any_of(
                   counts_->rows.begin(), counts_->rows.end(),
                   [&](const Count* row) { return row[own.missing_column()] > 0; });
    }

    // Set `left` to the left side of the beginning of a group's n-th block, or of the end of the one before.
    // Precondition: the group has values.
    void set_left(std::size_t g, std::size_t n, Reading reading, LeftSide& left) const {
        const OrderedRows::Grid& own = grid(g);
        const auto left_of = [&](const auto* row, auto total) -> std::int64_t {
            const std::int64_t n_present = n == 0 ? 0 : total - row[own.first_column + n - 1];
            return n_present + (reading == Reading::second ? row[own.missing_column()] : 0);
        };
        left.weights.resize(counts_->totals.size());
        left.total = 0;
        for (std::size_t c = 0; c < left.weights.size(); ++c) {
            left.weights[c] = left_of(counts_->rows[c], counts_->totals[c]);
            left.total += left.weights[c];
        }
        if (limits_.track_rows) {
            left.n_rows = left_of(counts_->n_true, counts_->n_rows);
        }
    }

    // Set `left` to the side of a column of the matrix where it is false. Precondition: rows are not tracked.
    void set_left_of_column(std::size_t column, LeftSide& left) const {
        left.weights.resize(counts_->totals.size());
        left.total = 0;
        for (std::size_t c = 0; c < left.weights.size(); ++c) {
            left.weights[c] = counts_->totals[c] - counts_->rows[c][column];
            left.total += left.weights[c];
        }
    }

    bool is_admissible(const LeftSide& left) const {
        return std::min(left.total, total_ - left.total) >= limits_.min_weight &&
               (!limits_.track_rows || std::min(left.n_rows, counts_->n_rows - left.n_rows) >= limits_.min_rows);
    }

    // Return the weight that two leaves misclassify.
    std::int64_t errors(const LeftSide& left) const {
        std::int64_t heaviest_left = 0;
        std::int64_t heaviest_right = 0;
        for (std::size_t c = 0; c < left.weights.size(); ++c) {
            heaviest_left = std::max(heaviest_left, left.weights[c]);
            heaviest_right = std::max<std::int64_t>(heaviest_right, counts_->totals[c] - left.weights[c]);
        }
        return total_ - heaviest_left - heaviest_right;
    }

    // Return a lower bound of the errors of all splits whose left side has at least the rows of `low` and at most those
    // of `high`. Their sides predict different classes, since else they would be one leaf.
    std::int64_t fewest_errors(const LeftSide& low, const LeftSide& high) const {
        std::int64_t most[2][2] = {};  // per side: its heaviest class, and its second
        std::size_t heaviest[2] = {0, 0};
        const auto add = [&](int side, std::size_t c, std::int64_t weight) {
            if (weight > most[side][0]) {
                most[side][1] = most[side][0];
                most[side][0] = weight;
                heaviest[side] = c;
            } else {
                most[side][1] = std::max(most[side][1], weight);
            }
        };
        for (std::size_t c = 0; c < low.weights.size(); ++c) {
            add(0, c, high.weights[c]);
            add(1, c, counts_->totals[c] - low.weights[c]);
        }
        return total_ - (heaviest[0] != heaviest[1] ? most[0][0] + most[1][0]
                                                    : std::max(most[0][0] + most[1][1], most[0][1] + most[1][0]));
    }

    // Call visit(entry before, entry after) at every place inside a block where the rank changes from one row of the
    // subset to the next. `left` must be the left side of the block's beginning, and is always that of the place.
    template <class Visit>
    void walk(std::size_t g, std::size_t block, LeftSide& left, Visit visit) {
        const OrderedRows& ordered = matrix_->ordered;
        const std::uint32_t begin = grid(g).begin(block);
        const std::uint32_t size = grid(g).end(block) - begin;
        // Which rows are in the subset cannot be predicted, so there is no branch.
        std::uint32_t* rows = rows_.ensure(size + std::size_t{1});
        std::uint32_t n = 0;
        std::uint32_t is_new = 0;
        for (const std::uint32_t entry : ordered.of_group(g).subspan(begin, size)) {
            is_new |= entry & OrderedRows::kNewRank;
            rows[n] = entry | is_new;
            const std::uint32_t is_in = has_row(entry) ? 1 : 0;
            n += is_in;
            is_new &= is_in - 1;
        }
        for (std::uint32_t i = 0; i < n; ++i) {
            if (i > 0 && rows[i] >= OrderedRows::kNewRank) {
                visit(rows[i - 1], rows[i]);
            }
            add_row(rows[i] & OrderedRows::kPosition, left);
        }
    }

    // Move a row to the left side.
    void add_row(std::uint32_t position, LeftSide& left) const {
        const BitMatrix& matrix = *matrix_;
        const auto [place, word_weight] = words_[position / 64];
        std::int64_t weight = word_weight;
        if (has_extras_) {
            const auto is_set = [&](std::uint64_t bits) { return (bits >> (position % 64) & 1) != 0; };
            std::int64_t factor = matrix.n_planes > 0 ? 0 : 1;
            for (std::size_t p = 0; p < matrix.n_planes; ++p) {
                factor += is_set(matrix.planes[p * matrix.n_words + position / 64]) ? std::int64_t{1} << p : 0;
            }
            weight *= factor;
            left.n_rows += !matrix.has_primary || is_set(matrix.primary[position / 64]) ? 1 : 0;
        }
        left.weights[place] += weight;
        left.total += weight;
    }

    // Describe the words of the matrix, for add_row() alone.
    void set_words() {
        has_extras_ = matrix_->n_planes > 0 || limits_.track_rows;
        words_.clear();
        for (const OrderedRows::Word& word : matrix_->ordered.words) {
            const auto class_index = static_cast<std::size_t>(word.class_index);
            words_.push_back({place_[class_index], data_.class_weight[class_index] << word.shift});
        }
    }

  private:
    // What a row of a word is to the subset.
    struct Word {
        std::uint32_t place;  // of its class in the counts; anything if the subset has none of it
        std::int64_t weight;  // of a row, without what bit planes say
    };

    const Data& data_;
    const SideLimits limits_;
    const BitMatrix* matrix_ = nullptr;
    const Counts<Count>* counts_ = nullptr;
    std::int64_t total_ = 0;
    std::vector<std::uint64_t> masks_;  // per word of the matrix: the rows of the subset
    std::vector<std::uint32_t> place_;  // per class: its index in the counts
    std::vector<Word> words_;
    bool has_extras_ = false;  // weights are bit planes, or rows are counted besides weights
    AlignedBuffer<std::uint32_t> rows_;
};

}  // namespace topk
