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
        last_.open(node, split_on, counter);
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
    if (limit_[i] == 0) {
        return;
    }
    const Counts<Count>& counts = view_[i].counts();
    bound_inner_blocks(counts, node_->matrix->n_columns);
    for (std::size_t g = 0; g < data_.groups.size(); ++g) {
        const OrderedRows::Grid& grid = view_[i].grid(g);
        const std::size_t n_cuts = grid.cuts.size();
        if (view_[i].has_missing(g)) {
            take_second_reading(i, g);
        }
        for (const std::size_t block : {std::size_t{0}, n_cuts}) {
            bound_block(i, g, block, Reading::first);
            if (n_cuts == 0) {
                break;
            }
        }
        const Count* bounds = bounds_.data() + grid.first_column;
        for (std::size_t block = 1; block < n_cuts; ++block) {
            if (bounds[block] < std::min(fewest_[i], limit_[i]) && grid.has_gap[block] != 0) {
                bound_block(i, g, block, Reading::first);
            }
        }
    }
    std::sort(blocks_[i].begin(), blocks_[i].end(), [](const Block& a, const Block& b) { return a.bound > b.bound; });
}

template <class Count>
void OrderedLast<Count>::bound_inner_blocks(const Counts<Count>& counts, std::size_t n_columns) {
    Count* bounds = bounds_.ensure(n_columns);
    if constexpr (std::is_same_v<Count, std::int32_t>) {
        kernels_.block_errors({counts.rows.data(), counts.totals.data(), counts.rows.size()}, n_columns, bounds);
    } else {
        std::fill_n(bounds, n_columns, Count{0});  // every block is bounded by itself
    }
}

// The sides predict different classes, since else the split would be a leaf.
template <class Count>
void OrderedLast<Count>::bound_block(int i, std::size_t g, std::size_t block, Reading reading) {
    const OrderedView<Count>& view = view_[i];
    if (view.grid(g).has_gap[block] == 0) {
        return;
    }
    view.set_left(g, block, reading, low_);
    view.set_left(g, block + 1, reading, high_);
    if (high_.total - low_.total < 2) {
        return;
    }
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
    for (std::size_t c = 0; c < low_.weights.size(); ++c) {
        add(0, c, high_.weights[c]);
        add(1, c, view.counts().totals[c] - low_.weights[c]);
    }
    const bool differ = heaviest[0] != heaviest[1];
    const std::int64_t right =
        differ ? most[0][0] + most[1][0] : std::max(most[0][0] + most[1][1], most[0][1] + most[1][0]);
    const auto bound = static_cast<Count>(view.total() - right);
    if (bound < std::min(fewest_[i], limit_[i])) {
        blocks_[i].push_back({bound, static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(block), reading});
    }
}

template <class Count>
void OrderedLast<Count>::take_second_reading(int i, std::size_t g) {
    const OrderedRows::Grid& grid = view_[i].grid(g);
    for (std::size_t n = 1; n <= grid.cuts.size(); ++n) {
        view_[i].set_left(g, n, Reading::second, low_);
        if (grid.cuts[n - 1] != grid.n_present && view_[i].is_admissible(low_)) {
            fewest_[i] = std::min(fewest_[i], static_cast<Count>(view_[i].errors(low_)));
        }
    }
    for (std::size_t block = 0; block <= grid.cuts.size(); ++block) {
        bound_block(i, g, block, Reading::second);
    }
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
}

template <class Count>
Count OrderedLast<Count>::best_of_k(int i, std::size_t k, Ticker& ticker) {
    Count fewest = std::numeric_limits<Count>::max();
    for (const auto& candidate : ranking_.rank(with_rows(i), rows(i), {k, false, false, distinct_}, ticker)) {
        fewest = std::min(fewest, static_cast<Count>(candidate.errors));
    }
    return fewest;
}

template class OrderedLast<std::int32_t>;
template class OrderedLast<std::int64_t>;

}  // namespace topk
