// Bounds for blocks, then rows of the blocks that are left.
#include "topk/candidates/ordered_last.hpp"

#include <limits>
#include <type_traits>

namespace topk {

template <class Count>
void OrderedLast<Count>::open(const Node<Count>& node, const Split<Count>& split_on, const Count* false_counts,
                              Counter<Count>& counter) {
    node_ = &node;
    column_ = split_on.bits();
    small_side_ = split_on.small_side();
    Fewest<Count> fewest;
    if (false_counts != nullptr) {
        fewest = last_.take(node, split_on, false_counts);
    } else {
        fewest = last_.count(node, split_on, counter);
    }
    for (const int i : {1, 0}) {
        fewest_[i] = fewest.of[i];
        has_rows_[i] = false;
        blocks_[i].clear();
        view_[i].open(*node.matrix, last_.child_counts(node, i));
        limit_[i] = split_on.side(i).errors();
        bound_blocks(i);
    }
}

template <class Count>
void OrderedLast<Count>::bound_blocks(int i) {
    constexpr Count kNone = std::numeric_limits<Count>::max();
    lowest_[i] = kNone;
    if (limit_[i] == 0) {
        return;
    }
    Count* bounds = bounds_[i].ensure(node_->matrix->n_columns);
    for (std::size_t g = 0; g < data_.groups.size(); ++g) {
        const OrderedRows::Grid& grid = view_[i].grid(g);
        if (grid.has_gaps) {
            const Count lowest = bound_group(view_[i].counts(), grid.nested(), bounds + grid.first_column);
            lowest_[i] = std::min(lowest_[i], lowest);
        }
        if (view_[i].has_missing(g)) {
            take_second_reading(i, g);
        }
    }
}

// Without the kernel, nothing is known of the blocks before they are listed.
template <class Count>
Count OrderedLast<Count>::bound_group(const Counts<Count>& counts, NestedColumns nested, Count* bounds) const {
    if constexpr (std::is_same_v<Count, std::int32_t>) {
        return kernels_.block_errors({counts.rows.data(), counts.totals.data(), counts.rows.size()}, nested, bounds);
    } else {
        std::fill_n(bounds, nested.n, Count{0});
        return 0;
    }
}

// Return a bound of the errors of a block's thresholds; numeric max if there are none.
template <class Count>
Count OrderedLast<Count>::block_bound(int i, std::size_t g, std::size_t block, Reading reading) {
    const OrderedView<Count>& view = view_[i];
    if (view.grid(g).has_gap[block] != 0) {
        view.set_left(g, block, reading, low_);
        view.set_left(g, block + 1, reading, high_);
        if (high_.total - low_.total >= 2) {
            return static_cast<Count>(view.fewest_errors(low_, high_));
        }
    }
    return std::numeric_limits<Count>::max();
}

template <class Count>
void OrderedLast<Count>::take_second_reading(int i, std::size_t g) {
    const OrderedRows::Grid& grid = view_[i].grid(g);
    for (std::size_t n = 1; n <= grid.cuts.size(); ++n) {
        lowest_[i] = std::min(lowest_[i], block_bound(i, g, n - 1, Reading::second));
        view_[i].set_left(g, n, Reading::second, low_);
        if (grid.cuts[n - 1] != grid.n_present && view_[i].is_admissible(low_)) {
            fewest_[i] = std::min(fewest_[i], static_cast<Count>(view_[i].errors(low_)));
        }
    }
}

template <class Count>
void OrderedLast<Count>::list_blocks(int i) {
    const Count limit = std::min(fewest_[i], limit_[i]);
    blocks_[i].clear();
    for (std::size_t g = 0; g < data_.groups.size(); ++g) {
        const OrderedRows::Grid& grid = view_[i].grid(g);
        const auto list = [&](std::size_t block, Reading reading) {
            if (const Count bound = block_bound(i, g, block, reading); bound < limit) {
                blocks_[i].push_back(
                    {bound, static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(block), reading});
            }
        };
        const Count* bounds = bounds_[i].data() + grid.first_column;
        for (std::size_t block = 0; limit > 0 && grid.has_gaps && block < grid.cuts.size(); ++block) {
            if (bounds[block] < limit) {
                list(block, Reading::first);
            }
        }
        for (std::size_t block = 0; limit > 0 && block < grid.cuts.size() && view_[i].has_missing(g); ++block) {
            list(block, Reading::second);
        }
    }
    std::sort(blocks_[i].begin(), blocks_[i].end(), [](const Block& a, const Block& b) { return a.bound > b.bound; });
    lowest_[i] = blocks_[i].empty() ? limit : blocks_[i].back().bound;
}

template <class Count>
OrderedView<Count>& OrderedLast<Count>::with_rows(int i) {
    if (!has_rows_[i]) {
        view_[i].set_rows(rows(i));
        has_rows_[i] = true;
    }
    return view_[i];
}

template <class Count>
void OrderedLast<Count>::refine(int i, Ticker& ticker) {
    const Block block = blocks_[i].back();
    blocks_[i].pop_back();
    OrderedView<Count>& view = with_rows(i);
    const OrderedRows::Grid& grid = view.grid(block.group);
    ticker.tick(4 * (grid.end(block.block) - grid.begin(block.block)));
    view.set_left(block.group, block.block, block.reading, low_);
    view.walk(block.group, block.block, low_, [&](std::uint32_t, std::uint32_t) {
        const auto errors = static_cast<Count>(view.errors(low_));
        if (errors < fewest_[i] && view.is_admissible(low_)) {
            fewest_[i] = errors;
        }
    });
    if (!blocks_[i].empty() && blocks_[i].back().bound >= fewest_[i]) {
        blocks_[i].clear();
    }
    lowest_[i] = blocks_[i].empty() ? fewest_[i] : blocks_[i].back().bound;
}

// Only columns and blocks with fewer errors matter. Where they are many, ranking all takes less time.
template <class Count>
Count OrderedLast<Count>::bound_of_k(int i, std::size_t k, Count wanted) {
    constexpr std::size_t kMostOpen = 256;
    const SplitList& witnesses = witnesses_[side(i)];
    if (low(i) >= wanted || witnesses.columns.empty() || !ranking_[i].is_plain()) {
        return std::min(low(i), wanted);
    }
    open_.clear();
    for (std::size_t j = 0; j < node_->matrix->n_columns; ++j) {
        if (last_.errors(i)[j] < wanted) {
            open_.columns.push_back(j);
        }
    }
    for (std::size_t g = 0; g < data_.groups.size(); ++g) {
        const OrderedRows::Grid& grid = view_[i].grid(g);
        for (std::size_t block = 0; grid.has_gaps && block < grid.cuts.size(); ++block) {
            if (bounds_[i][grid.first_column + block] < wanted) {
                open_.blocks.push_back({g, block});
            }
        }
    }
    if (open_.size() > kMostOpen) {
        return low(i);
    }
    return static_cast<Count>(settle_.errors_bound(with_rows(i), k, witnesses, open_, wanted));
}

template <class Count>
Count OrderedLast<Count>::best_of_k(int i, Ticker& ticker) {
    Count fewest = std::numeric_limits<Count>::max();
    for (const auto& candidate : ranking_[i].finish(rows(i), ticker)) {
        fewest = std::min(fewest, static_cast<Count>(candidate.errors));
    }
    return fewest;
}

template class OrderedLast<std::int32_t>;
template class OrderedLast<std::int64_t>;

}  // namespace topk
