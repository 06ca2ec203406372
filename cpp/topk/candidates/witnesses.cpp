// Scores of witnesses first, then of splits with few errors.
#include "topk/candidates/witnesses.hpp"

#include <algorithm>

namespace topk {

template <class Count>
void Witnesses<Count>::look_at(OrderedView<Count>& view, const SplitList::Block& block) {
    view.set_left(block.group, block.block, Reading::first, low_);
    view.walk(block.group, block.block, low_, [&](std::uint32_t, std::uint32_t) {
        if (view.is_admissible(low_)) {
            found_.push_back({scorer_.split_score(terms_, low_.weights.data()), view.errors(low_)});
            best_.add(found_.back().score, 1);
        }
    });
}

template <class Count>
std::int64_t Witnesses<Count>::errors_bound(OrderedView<Count>& view, std::size_t k, const SplitList& witnesses,
                                            const SplitList& open, std::int64_t wanted) {
    terms_ = scorer_.node_terms(view.counts());
    best_.begin(k);
    found_.clear();
    for (const std::size_t column : witnesses.columns) {
        view.set_left_of_column(column, low_);
        if (view.is_admissible(low_)) {
            best_.add(scorer_.split_score(terms_, low_.weights.data()), 1);
        }
    }
    for (const SplitList::Block& block : witnesses.blocks) {
        look_at(view, block);
    }
    for (const std::size_t column : open.columns) {
        view.set_left_of_column(column, low_);
        if (view.is_admissible(low_) && scorer_.split_score(terms_, low_.weights.data()) >= best_.limit()) {
            wanted = std::min(wanted, view.errors(low_));
        }
    }
    for (const SplitList::Block& block : open.blocks) {
        const auto& seen = witnesses.blocks;
        view.set_left(block.group, block.block, Reading::first, low_);
        view.set_left(block.group, block.block + 1, Reading::first, high_);
        if (std::find(seen.begin(), seen.end(), block) == seen.end() && view.fewest_errors(low_, high_) < wanted &&
            scorer_.score_bound(terms_, low_.weights.data(), high_.weights.data()) >= best_.limit()) {
            look_at(view, block);
        }
    }
    for (const Found& found : found_) {
        wanted = found.score >= best_.limit() ? std::min(wanted, found.errors) : wanted;
    }
    return wanted;
}

template class Witnesses<std::int32_t>;
template class Witnesses<std::int64_t>;

}  // namespace topk
