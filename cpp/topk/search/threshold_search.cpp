// Chains of thresholds, cut into stretches between thresholds that were tried.
#include "topk/search/threshold_search.hpp"

#include <algorithm>

#include "topk/search/node_search.hpp"

namespace topk {
namespace {

// About one of so many places of a stretch is tried.
constexpr double kPlacesPerTry = 16;

}  // namespace

template <class Count>
template <class Visit>
void ThresholdSearch<Count>::for_places(Space& space, const Node<Count>& node, std::size_t g, Reading reading,
                                        Visit visit) const {
    const std::span<const std::uint32_t> own = node.matrix->ordered.of_group(g);
    space.ticker.tick(4 * own.size());
    OrderedView<Count>& view = space.view;
    view.open(*node.matrix, node.counts);
    view.set_words();
    LeftSide left;
    view.set_left(g, 0, reading, left);
    for (std::uint32_t i = 0; i < view.grid(g).n_present; ++i) {
        if (i > 0 && own[i] >= OrderedRows::kNewRank && view.is_admissible(left)) {
            visit(i, left);
        }
        view.add_row(own[i] & OrderedRows::kPosition, left);
    }
}

template <class Count>
auto ThresholdSearch<Count>::with_places(Chain chain, Space& space, const Node<Count>& node, bool scored) const
    -> Chain {
    const SearchContext<Count>& context = nodes_.context();
    const std::size_t g = chain.group;
    const std::int64_t n_missing =
        chain.reading == Reading::second
            ? static_cast<std::int64_t>(node.matrix->ordered.n_entries - node.matrix->ordered.grids[g].n_present)
            : 0;
    if (scored || context.is_weighted) {
        const NodeTerms terms = context.scorer.node_terms(node.counts);
        for_places(space, node, g, chain.reading, [&](std::uint32_t entry, const LeftSide& left) {
            chain.entry.push_back(entry);
            chain.left.push_back(left.total);
            if (scored) {
                chain.score.push_back(context.scorer.split_score(terms, left.weights.data()));
            }
        });
        return chain;
    }
    const std::span<const std::uint32_t> own = node.matrix->ordered.of_group(g);
    space.ticker.tick(own.size());
    const std::int64_t min_side = context.limits.min_weight;
    const auto first = static_cast<std::uint32_t>(std::max<std::int64_t>(min_side - n_missing, 1));
    const auto n_rows = static_cast<std::int64_t>(own.size());
    for (std::uint32_t i = first; i < node.matrix->ordered.grids[g].n_present; ++i) {
        if (own[i] >= OrderedRows::kNewRank && n_rows - n_missing - i >= min_side) {
            chain.entry.push_back(i);
            chain.left.push_back(i + n_missing);
        }
    }
    return chain;
}

template <class Count>
std::int32_t ThresholdSearch<Count>::column_at(const Node<Count>& node, std::size_t g, Reading reading,
                                               std::uint32_t entry) const {
    const OrderedRows& ordered = node.matrix->ordered;
    const std::size_t threshold = ordered.rank(g, ordered.of_group(g)[entry - 1]);
    return nodes_.context().nodes.columns().of_threshold(g, threshold, reading);
}

// Good splits are tried first, since their costs settle others.
template <class Count>
auto ThresholdSearch<Count>::chains(Space& space, const Node<Count>& node) const -> std::vector<Chain> {
    const OrderedRows& ordered = node.matrix->ordered;
    const ScoreKey* keys = score(space, node);
    std::vector<std::pair<ScoreKey, Chain>> chains;
    for (std::size_t g = 0; g < ordered.groups.size(); ++g) {
        const OrderedRows::Grid& grid = ordered.grids[g];
        if (grid.n_present == 0) {
            continue;
        }
        const ScoreKey* own = keys + grid.first_column;
        const ScoreKey* best = std::max_element(own, own + grid.cuts.size());
        const std::uint32_t start = grid.cuts[static_cast<std::size_t>(best - own)];
        chains.push_back({*best, {g, Reading::first, start, {}, {}, {}}});
        if (grid.n_present < ordered.n_entries) {
            chains.push_back({*best, {g, Reading::second, start, {}, {}, {}}});
        }
    }
    std::stable_sort(chains.begin(), chains.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Chain> sorted;
    for (auto& [key, chain] : chains) {
        sorted.push_back(std::move(chain));
    }
    return sorted;
}

template <class Count>
const ScoreKey* ThresholdSearch<Count>::score(Space& space, const Node<Count>& node) const {
    ScoreKey* keys = space.keys.ensure(node.matrix->n_columns);
    nodes_.context().scorer.all_keys(node.counts, node.matrix->n_columns, keys);
    return keys;
}

// They are the columns of bits, and the split into present and missing values of each group, which may be that of
// several columns, of which the first is taken.
template <class Count>
auto ThresholdSearch<Count>::single_columns(Space& space, const Node<Count>& node) const -> std::vector<Single> {
    const ColumnMap& columns = nodes_.context().nodes.columns();
    const OrderedRows& ordered = node.matrix->ordered;
    std::vector<Single> singles;
    for (std::size_t j = 0; j < node.matrix->n_bits; ++j) {
        singles.push_back({columns.of_bits(j), j, 0});
    }
    for (std::size_t g = 0; g < ordered.groups.size(); ++g) {
        const OrderedRows::Grid& grid = ordered.grids[g];
        if (grid.n_present == 0 || grid.n_present == ordered.n_entries) {
            continue;
        }
        const std::uint32_t lowest = ordered.rank(g, ordered.of_group(g)[0]);
        const std::uint32_t highest = ordered.rank(g, ordered.of_group(g)[grid.n_present - 1]);
        const std::int32_t column = highest < ordered.groups[g].n_thresholds()
                                        ? columns.of_threshold(g, highest, Reading::first)
                                    : lowest > 0 ? columns.of_threshold(g, 0, Reading::second)
                                                 : columns.of_threshold(g, 0, Reading::is_missing);
        singles.push_back({column, grid.first_column + grid.cuts.size() - 1, 0});
    }
    if (!singles.empty()) {
        const ScoreKey* keys = score(space, node);
        std::erase_if(singles, [&](Single& single) {
            single.score = score_of(keys[single.matrix_column]);
            return keys[single.matrix_column] == kNoScoreKey;
        });
    }
    return singles;
}

// Set [first, last) to the places between a and b that may cost less than the limit.
template <class Count>
void ThresholdSearch<Count>::narrow(const Chain& chain, int height, std::int64_t limit, const Tried& a, const Tried& b,
                                    std::size_t& first, std::size_t& last) const {
    const std::int64_t scale = nodes_.context().options.objective.cost_scale;
    const std::int64_t slack = nodes_.context().plan.cost_of_minimum(height - 1);
    const auto begin = chain.left.begin();
    const std::int64_t left = std::max<std::int64_t>(a.cost.side[0] - slack, 0);   // of all places after a
    const std::int64_t right = std::max<std::int64_t>(b.cost.side[1] - slack, 0);  // of all places before b
    first = a.place;
    last = b.place - 1;
    if (left + right >= limit) {
        last = first;
        return;
    }
    // The right side of a place after a costs at least as much as that of a, less what has moved to the left since.
    if (const std::int64_t too_much = left + a.cost.side[1] - limit; a.place > 0 && too_much >= 0) {
        const std::int64_t from = chain.left[a.place - 1] + too_much / scale;
        first = static_cast<std::size_t>(std::upper_bound(begin, chain.left.end(), from) - begin);
    }
    if (const std::int64_t too_much = right + b.cost.side[0] - limit; b.place <= chain.left.size() && too_much >= 0) {
        const std::int64_t to = chain.left[b.place - 1] - too_much / scale;
        last = static_cast<std::size_t>(std::lower_bound(begin, chain.left.end(), to) - begin);
    }
    const bool both = a.place > 0 && b.place <= chain.left.size();
    if (both &&
        a.cost.side[1] + b.cost.side[0] - scale * (chain.left[b.place - 1] - chain.left[a.place - 1]) >= limit) {
        last = first;
    }
    last = std::max(first, last);
}

// Return what a and b tell about the sides of a place between them.
template <class Count>
SideCosts ThresholdSearch<Count>::bounds_at(const Chain& chain, int height, const Tried& a, const Tried& b,
                                            std::size_t place) const {
    const std::int64_t scale = nodes_.context().options.objective.cost_scale;
    const std::int64_t slack = nodes_.context().plan.cost_of_minimum(height - 1);
    SideCosts bounds = {
        {std::max<std::int64_t>(a.cost.side[0] - slack, 0), std::max<std::int64_t>(b.cost.side[1] - slack, 0)}};
    if (a.place > 0) {
        const std::int64_t moved = chain.left[place] - chain.left[a.place - 1];
        bounds.side[1] = std::max(bounds.side[1], a.cost.side[1] - scale * moved);
    }
    if (b.place <= chain.left.size()) {
        const std::int64_t moved = chain.left[b.place - 1] - chain.left[place];
        bounds.side[0] = std::max(bounds.side[0], b.cost.side[0] - scale * moved);
    }
    return bounds;
}

// Return the counts of the rows before an entry, given those of another.
template <class Count>
const Count* ThresholdSearch<Count>::count_left(Space& space, const Node<Count>& node, std::size_t g,
                                                const Tried& known, std::uint32_t entry, std::size_t depth) const {
    const BitMatrix& matrix = *node.matrix;
    const OrderedRows& ordered = matrix.ordered;
    const std::uint32_t begin = std::min(known.entry, entry);
    const std::uint32_t end = std::max(known.entry, entry);
    space.ticker.tick(2 * (end - begin) + matrix.n_words);
    space.masks.assign(matrix.n_words, 0);
    for (const std::uint32_t e : ordered.of_group(g).subspan(begin, end - begin)) {
        const std::uint32_t position = e & OrderedRows::kPosition;
        space.masks[position / 64] |= std::uint64_t{1} << (position % 64);
    }
    select_rows(ordered, space.masks, space.between);
    if (space.side_counts.size() <= depth) {
        space.side_counts.resize(depth + 1);
    }
    const std::size_t n_columns = matrix.n_columns;
    const std::size_t n_classes = node.counts.rows.size();
    Count* counts = space.side_counts[depth].ensure(n_classes * n_columns);
    Count* moved = space.moved.ensure(n_columns);
    std::size_t span = 0;
    for (std::size_t c = 0; c < n_classes; ++c) {
        const Count* from = known.counts + c * n_columns;
        Count* to = counts + c * n_columns;
        const std::vector<Span>& spans = space.between.spans;
        if (span == spans.size() || spans[span].class_index != node.counts.class_index[c]) {
            std::copy_n(from, n_columns, to);
            continue;
        }
        space.counter.weights(matrix, space.between, span, moved);
        const Count sign = entry > known.entry ? 1 : -1;
        for (std::size_t j = 0; j < n_columns; ++j) {
            to[j] = from[j] + sign * moved[j];
        }
    }
    return counts;
}

// Should several threads search a stretch of so many places?
template <class Count>
bool ThresholdSearch<Count>::worth_tasks(int level, const Node<Count>& node, std::size_t n_places) const {
    const double n_tries = static_cast<double>(n_places) / kPlacesPerTry;
    return nodes_.are_tasks(node, n_tries * nodes_.context().plan.tries_below(level));
}

template <class Count>
void ThresholdSearch<Count>::search_between(Space& space, int level, const Node<Count>& node, const Chain& chain,
                                            const Tried& a, const Tried& b, std::size_t depth, Best& best) {
    const SearchContext<Count>& context = nodes_.context();
    const int height = context.plan.height(level);
    const std::int64_t limit = context.options.tuning.use_bounds ? best.limit() : kInfinity;
    const auto column = [&](std::size_t i) { return column_at(node, chain.group, chain.reading, chain.entry[i]); };
    std::size_t first = 0;
    std::size_t last = 0;
    narrow(chain, height, limit, a, b, first, last);
    if (best.by_score) {
        const auto is_wanted = [&](std::size_t i) { return best.wants(chain.score[i], column(i)); };
        while (first < last && !is_wanted(first)) {
            ++first;
        }
        while (first < last && !is_wanted(last - 1)) {
            --last;
        }
    }
    if (first == last) {
        return;
    }
    std::size_t middle = first + (last - first) / 2;
    if (depth == 0) {
        const auto start = std::lower_bound(chain.entry.begin(), chain.entry.end(), chain.start);
        middle = std::clamp(static_cast<std::size_t>(start - chain.entry.begin()), first, last - 1);
    }
    const std::uint32_t entry = chain.entry[middle];
    // A cost of so much more settles the whole stretch.
    const std::int64_t reach =
        std::max(chain.left[middle] - chain.left[first], chain.left[last - 1] - chain.left[middle]);
    const std::int64_t budget = limit < kInfinity ? limit + context.options.objective.cost_scale * reach : kInfinity;
    Tried tried = {middle + 1, bounds_at(chain, height, a, b, middle), entry};
    const bool counts = height == 2 && !context.limits.track_rows;
    if (counts) {
        const bool from_a = a.counts != nullptr && entry - a.entry <= b.entry - entry;
        tried.counts = count_left(space, node, chain.group, from_a ? a : b, entry, depth);
    }
    tried.cost = nodes_.split_sides(space, level, node, column(middle), budget, tried.cost, tried.counts);
    const std::int64_t score = best.by_score ? chain.score[middle] : 0;
    if (best.wants(score, column(middle)) && best.offer(tried.cost.sum(), column(middle), score) && level == 0) {
        nodes_.keep_split(tried.cost.sum(), column(middle));
    }
    const bool shared = worth_tasks(level, node, last - first);
    nodes_.for_tasks(space, nodes_.task_depth(level, depth + 1), shared, 2, [&](Space& own, int i) {
        search_between(own, level, node, chain, i == 0 ? a : tried, i == 0 ? tried : b, depth + 1, best);
    });
}

// At the ends, all rows or none are on the left side; not so at the beginning of a second reading, where missing values
// are there.
template <class Count>
void ThresholdSearch<Count>::search_chain(Space& space, int level, const Node<Count>& node, const Chain& chain,
                                          Best& best) {
    const OrderedRows& ordered = node.matrix->ordered;
    const std::size_t n_columns = node.matrix->n_columns;
    const std::size_t n_classes = node.counts.rows.size();
    const bool is_first = chain.reading == Reading::first;
    if (nodes_.context().plan.height(level) > 2) {
        search_between(space, level, node, chain, {0}, {chain.entry.size() + 1}, 0, best);
        return;
    }
    Count* ends = space.end_counts.ensure(2 * n_classes * n_columns);
    std::fill_n(ends, n_classes * n_columns, Count{0});
    for (std::size_t c = 0; c < n_classes; ++c) {
        std::copy_n(node.counts.rows[c], n_columns, ends + (n_classes + c) * n_columns);
    }
    const std::uint32_t n_left =
        is_first ? static_cast<std::uint32_t>(ordered.n_entries) : ordered.grids[chain.group].n_present;
    const Tried begin = {0, {{0, 0}}, 0, is_first ? ends : nullptr};
    const Tried end = {chain.entry.size() + 1, {{0, 0}}, n_left, ends + n_classes * n_columns};
    search_between(space, level, node, chain, begin, end, 0, best);
}

template <class Count>
void ThresholdSearch<Count>::search(Space& space, int level, const Node<Count>& node, Best& best) {
    for (const Single& single : single_columns(space, node)) {
        if (best.wants(single.score, single.column)) {
            const std::int64_t limit = nodes_.context().options.tuning.use_bounds ? best.limit() : kInfinity;
            const std::int64_t cost = nodes_.split_sides(space, level, node, single.column, limit).sum();
            if (best.offer(cost, single.column, single.score) && level == 0) {
                nodes_.keep_split(cost, single.column);
            }
        }
    }
    const auto chains = this->chains(space, node);
    const bool shared = worth_tasks(level, node, node.matrix->ordered.n_entries);
    nodes_.for_tasks(space, nodes_.task_depth(level), shared, static_cast<int>(chains.size()), [&](Space& own, int i) {
        const auto& chain = chains[static_cast<std::size_t>(i)];
        search_chain(own, level, node, with_places(chain, own, node, best.by_score), best);
    });
}

template <class Count>
Result ThresholdSearch<Count>::solve(Space& space, int level, const Node<Count>& node, std::int64_t budget) {
    const std::int64_t leaf = nodes_.context().costs.leaf(node.whole.errors());
    Best best{.cost = std::min(leaf, budget), .column = kLeaf, .score = 0, .by_score = false};
    search(space, level, node, best);
    return {best.cost, best.column, best.column != kLeaf || leaf < budget};
}

// Errors first: only the few thresholds with the fewest are scored.
template <class Count>
Result ThresholdSearch<Count>::solve_last(Space& space, const Node<Count>& node) const {
    const SearchContext<Count>& context = nodes_.context();
    const NodeTerms terms = context.scorer.node_terms(node.counts);
    const std::int64_t leaf = context.costs.leaf(node.whole.errors());
    Best best{.cost = leaf, .column = kLeaf, .score = 0, .by_score = false};
    const auto offer = [&](std::int64_t errors, const LeftSide& left, auto column) {
        const std::int64_t cost = context.costs.two_leaves(errors);
        if (cost < leaf && cost <= best.cost) {
            best.by_score = cost == best.cost;
            const std::int64_t score = context.scorer.split_score(terms, left.weights.data());
            if (best.wants(score, column())) {
                best.offer(cost, column(), score);
            }
        }
    };
    LeftSide left;
    for (const Single& single : single_columns(space, node)) {
        left.weights.clear();
        std::int64_t heaviest[2] = {0, 0};
        for (std::size_t c = 0; c < node.counts.totals.size(); ++c) {
            const std::int64_t n_true = node.counts.rows[c][single.matrix_column];
            left.weights.push_back(node.counts.totals[c] - n_true);
            heaviest[0] = std::max(heaviest[0], left.weights.back());
            heaviest[1] = std::max(heaviest[1], n_true);
        }
        offer(node.whole.weight - heaviest[0] - heaviest[1], left, [&] { return single.column; });
    }
    for (const Chain& chain : chains(space, node)) {
        for_places(space, node, chain.group, chain.reading, [&](std::uint32_t entry, const LeftSide& at) {
            offer(space.view.errors(at), at, [&] { return column_at(node, chain.group, chain.reading, entry); });
        });
    }
    return {best.cost, best.column, true};
}

template <class Count>
std::int32_t ThresholdSearch<Count>::best_scored(Space& space, int level, const Node<Count>& node,
                                                 const Result& result) {
    SearchContext<Count>& context = nodes_.context();
    const Split<Count> split_on = context.nodes.split_on(node, result.column, space.counter, space.level(level).split);
    std::vector<std::int64_t> left;
    for (std::size_t c = 0; c < node.counts.totals.size(); ++c) {
        left.push_back(split_on.total(c, false));
    }
    const std::int64_t score = context.scorer.split_score(context.scorer.node_terms(node.counts), left.data());
    Best best{.cost = result.cost, .column = result.column, .score = score, .by_score = true};
    search(space, level, node, best);
    return best.column;
}

template class ThresholdSearch<std::int32_t>;
template class ThresholdSearch<std::int64_t>;

}  // namespace topk
