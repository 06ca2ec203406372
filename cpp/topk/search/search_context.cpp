// The candidates of a node: score its columns and select the k best.
#include "topk/search/search_context.hpp"

#include <algorithm>

#include "topk/candidates/candidates.hpp"

namespace topk {

template <class Count>
void SearchContext<Count>::score(Workspace<Count>& space, int level, const Node<Count>& node, ScoreKey* keys) const {
    space.ticker.tick(scorer.work(node.counts.rows.size()));
    if (plan.lists_all(level)) {
        scorer.all_keys(node.counts, node.matrix->n_columns, keys);
    } else {
        scorer.keys(node.counts, node.matrix->n_columns, keys);
    }
}

template <class Count>
void SearchContext<Count>::rank_candidates(Workspace<Count>& space, int level, const Node<Count>& node) const {
    if (space.drawn) {
        rank_drawn(space, level, node);
        return;
    }
    if (!data.groups.empty()) {
        const bool distinct =
            options.objective.distinct_splits && (enumerates || level == 0 || !plan.all_columns(level));
        rank_ordered(space, level, node, {plan.listed(level), plan.lists_all(level), enumerates, distinct});
        return;
    }
    LevelBuffers<Count>& buffers = space.level(level);
    ScoreKey* keys = buffers.keys.ensure(node.matrix->n_columns);
    score(space, level, node, keys);
    const std::size_t n_columns = node.matrix->n_bits;
    // If all columns are candidates, those that distinct_splits passes over would lose their ties anyway; but those of
    // the root are shown to the user.
    if (options.objective.distinct_splits && (enumerates || level == 0 || !plan.all_columns(level))) {
        const RowSet rows = {*node.matrix, node.subset};
        const Places places = {plan.listed(level), options.objective.second_reading};
        best_distinct_keys(keys, n_columns, places, node.counts, rows, scorer.is_symmetric(), buffers.sorted_keys);
    } else {
        best_keys(keys, n_columns,
                  {plan.listed(level), options.objective.second_reading, node.matrix->copies, &kernels},
                  buffers.sorted_keys);
    }
    buffers.candidates.clear();
    buffers.n_alike.clear();
    const bool one_each = options.objective.distinct_splits || node.matrix->copies.empty();
    for (const ScoreKey key : buffers.sorted_keys) {
        const auto j = static_cast<std::size_t>(column_of(key));
        buffers.candidates.push_back(node.matrix->column_of(j));
        buffers.n_alike.push_back(one_each ? 1 : node.matrix->copies[j]);
    }
}

template <class Count>
std::int32_t SearchContext<Count>::best_column(Workspace<Count>& space, int level, const Node<Count>& node) const {
    LevelBuffers<Count>& buffers = space.level(level);
    if (!data.groups.empty()) {
        rank_ordered(space, level, node, {1, false, false, false});
        return buffers.candidates.empty() ? kLeaf : buffers.candidates[0];
    }
    ScoreKey* keys = buffers.keys.ensure(node.matrix->n_columns);
    score(space, level, node, keys);
    const ScoreKey best = *std::max_element(keys, keys + node.matrix->n_bits);
    return best == kNoScoreKey ? kLeaf : node.matrix->column_of(static_cast<std::size_t>(column_of(best)));
}

// The same, but only the columns of the features that the node draws are scored.
template <class Count>
void SearchContext<Count>::rank_drawn(Workspace<Count>& space, int level, const Node<Count>& node) const {
    LevelBuffers<Count>& buffers = space.level(level);
    DrawnColumns<Count>& drawn = *space.drawn;
    drawn.open(node);
    drawn.take_node();
    const std::size_t n_columns = drawn.n_columns();
    ScoreKey* keys = buffers.keys.ensure(n_columns);
    space.ticker.tick(scorer.work(node.counts.rows.size()));
    scorer.all_keys(drawn.counts(), n_columns, keys);
    scorer.drop_equal_readings(drawn.second_reading(), keys);
    best_keys(keys, n_columns, {plan.k(level), drawn.second_reading(), {}, &kernels}, buffers.sorted_keys);
    buffers.candidates.clear();
    for (const ScoreKey key : buffers.sorted_keys) {
        buffers.candidates.push_back(drawn.column(static_cast<std::size_t>(column_of(key))));
    }
}

template <class Count>
void SearchContext<Count>::rank_ordered(Workspace<Count>& space, int level, const Node<Count>& node,
                                        const typename OrderedRanking<Count>::Request& request) const {
    std::vector<std::int32_t>& candidates = space.level(level).candidates;
    const RowSet rows = {*node.matrix, node.subset};
    space.view.open(*node.matrix, node.counts);
    space.view.set_rows(rows);
    std::vector<std::int64_t>& errors = space.level(level).errors;
    std::vector<std::int64_t>& n_alike = space.level(level).n_alike;
    candidates.clear();
    errors.clear();
    n_alike.clear();
    space.ordered.begin(space.view, request, space.ticker);
    for (const auto& candidate : space.ordered.finish(rows, space.ticker)) {
        candidates.push_back(candidate.column);
        errors.push_back(candidate.errors);
        n_alike.push_back(candidate.places);
    }
}

template struct SearchContext<std::int32_t>;
template struct SearchContext<std::int64_t>;

}  // namespace topk
