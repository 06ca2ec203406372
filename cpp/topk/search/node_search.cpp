// Candidates of a node, what each of them costs, and the bounds that save the time to find out.
//
// Every bound here is valid for the tree asked for, ties included; cpp/README.md has the list with its lemmas.
#include "topk/search/node_search.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "topk/candidates/candidates.hpp"

namespace topk {
namespace {

// From this product of candidates, over all levels but the last, it pays to look at the rows first.
constexpr double kLongSearch = 128;

template <class Count>
std::int64_t two_leaf_errors(const Split<Count>& split_on) {
    return std::int64_t{split_on.side(0).errors()} + split_on.side(1).errors();
}

}  // namespace

template <class Count>
NodeSearch<Count>::NodeSearch(const Data& data, const Options& options, const Kernels& kernels, std::int64_t total,
                              Purpose purpose)
    : context_(data, options, kernels, total, purpose),
      cache_(options.tuning.use_cache
                 ? std::make_unique<SubsetCache>(options.tuning.cache_bytes, options.tuning.threads > 1)
                 : nullptr),
      last_split_(context_, cache_.get()),
      lookahead_(*this, cache_.get()),
      thresholds_(*this),
      spaces_(context_.monitor, [this] { return context_.make_space(); }) {}

template <class Count>
bool NodeSearch<Count>::is_long_search() const {
    const Objective& objective = context_.options.objective;
    const auto n_columns = static_cast<double>(context_.nodes.columns().n_columns());
    double n_nodes = std::max(1.0, std::min<double>(objective.lookahead, n_columns));
    for (std::size_t level = 0; level + 1 < objective.k.size(); ++level) {
        n_nodes *= std::min<double>(objective.k[level], n_columns);
    }
    return n_nodes >= kLongSearch;
}

// Is every node visited at most once?
template <class Count>
bool NodeSearch<Count>::visits_once() const {
    const Objective& objective = context_.options.objective;
    return context_.plan.widest() == 1 && objective.lookahead == 0 && !objective.refine;
}

template <class Count>
void NodeSearch<Count>::build_root(Space& space) {
    using Identity = typename NodeFactory<Count>::Identity;
    const bool arrange = context_.options.tuning.arrange == Arrange::always || is_long_search();
    const MatrixExtras extras = {.conflicts = context_.options.tuning.use_bounds && arrange,
                                 .arrange = arrange ? context_.options.tuning.arrange : Arrange::never,
                                 .few_thresholds = context_.options.tuning.few_thresholds,
                                 .threads = context_.options.tuning.threads,
                                 .threads_after = context_.options.tuning.threads_after};
    Identity identity = Identity::none;
    if (context_.enumerates) {
        identity = Identity::rows;
    } else if (cache_ && !visits_once()) {
        const bool few_rows = context_.data.n_rows <= context_.options.tuning.max_fingerprinted_rows;
        identity = few_rows ? Identity::rows : Identity::literals;
    }
    context_.nodes.build_root(extras, identity, space.counter, space.ticker);
}

template <class Count>
void NodeSearch<Count>::begin_pass(Space& space, std::int32_t k, int tail) {
    context_.plan.narrow_to(k, tail);
    split_ = {kInfinity, kLeaf, false};
    for (LevelBuffers<Count>& level : space.levels) {
        level.passes = -1;
    }
    if (cache_ && cache_is_used_) {
        cache_->clear(space.ticker);
    }
    cache_is_used_ = true;
}

template <class Count>
std::unique_ptr<TreeNode> NodeSearch<Count>::leaf(const Space& space, const Node<Count>& node) const {
    auto leaf = context_.nodes.leaf(node, space.counter);
    leaf->cost = context_.costs.leaf(node.whole.errors());
    return leaf;
}

template <class Count>
void NodeSearch<Count>::list_root(Space& space, const Node<Count>& node, std::span<const std::int32_t> candidates) {
    context_.root_record.list(candidates, context_.n_classes());
    if (context_.plan.looks_ahead(0)) {
        context_.root_record.complete(space.level(0).greedy_cost);
    }
    for (std::size_t i = 0; i < std::min(candidates.size(), RootChoices::kWeighed); ++i) {
        const Split<Count> split_on = context_.nodes.split_on(node, candidates[i], space.counter, space.level(0).split);
        context_.root_record.weigh(i, node.counts, split_on);
    }
}

// Put the candidates of a node into the level's buffers. Returns a cost that its best tree does not exceed.
template <class Count>
std::int64_t NodeSearch<Count>::rank_candidates(Space& space, int level, const Node<Count>& node) {
    if (context_.plan.looks_ahead(level)) {
        return lookahead_.rank(space, level, node);
    }
    context_.rank_candidates(space, level, node);
    return kInfinity;
}

// The costs of all candidates follow from the counts.
template <class Count>
Result NodeSearch<Count>::solve_last(Space& space, int level, const Node<Count>& node) {
    context_.count_nodes(space, 1);
    if (has_chains(level)) {
        return thresholds_.solve_last(space, with_all_rows(space, level, node));
    }
    context_.rank_candidates(space, level, node);
    const std::vector<std::int32_t>& candidates = space.level(level).candidates;
    if (level == 0) {
        list_root(space, node, candidates);
    }
    Result best = {context_.costs.leaf(node.whole.errors()), kLeaf, true};
    int rank = 0;
    for (const std::int32_t column : candidates) {
        const std::int64_t errors = has_groups() ? space.level(level).errors[static_cast<std::size_t>(rank)]
                                                 : two_leaf_errors(Split<Count>(node, column));
        const std::int64_t cost = context_.costs.two_leaves(errors);
        if (level == 0) {
            context_.root_record.note(rank, cost, true);
        }
        ++rank;
        if (cost < best.cost) {
            best = {cost, column, true};
        }
    }
    return best;
}

template <class Count>
Result NodeSearch<Count>::find_or_solve(Space& space, int level, const Node<Count>& node, std::int64_t budget) {
    if (context_.plan.height(level) == 1) {
        return solve_last(space, level, node);
    }
    CacheEntry entry;
    const bool is_known = cache_ && cache_->find(node.fingerprint, context_.plan.height(level), entry);
    if (is_known && (entry.solved || entry.cost >= budget)) {
        return {entry.cost, entry.column, entry.solved};
    }
    return solve(space, level, node, budget);
}

// Compacting takes as long as about twelve passes over the words and the entries of a node's matrix, and saves the
// empty part of every pass that follows. How many follow is estimated from the nodes of this level so far; before the
// first, from k.
template <class Count>
bool NodeSearch<Count>::worth_compacting(Space& space, int level, const Node<Count>& node) {
    const double enough = context_.options.tuning.passes_to_compact;
    const auto k = static_cast<double>(std::min(context_.plan.listed(level), context_.nodes.columns().n_columns()));
    const double expected = context_.plan.height(level) == 2 ? k / 2 : k * k;
    if (expected <= enough) {
        return false;
    }
    constexpr double kEntry = 3;  // the time to pass over an entry of a row outside the node; for a word of a column: 1
    const std::size_t n_rows = context_.kernels.count_rows(node.subset.list(), nullptr);
    const BitMatrix& matrix = *node.matrix;
    const double passes = space.level(level).passes < 0 ? expected : space.level(level).passes;
    const auto rows = static_cast<double>(n_rows);
    const auto words = static_cast<double>(node.subset.masks.size());
    const auto columns = static_cast<double>(matrix.n_columns);
    const auto entries = static_cast<double>(matrix.ordered.n_entries);
    const auto n_groups = static_cast<double>(context_.data.groups.size());
    const double saved = (words - rows / 64) * columns + (has_groups() ? kEntry * (entries - rows) : 0);
    const double cost = enough * (words * columns + n_groups * (entries + rows));
    return passes * saved >= cost && reserve_rows(space.level(level), n_rows);
}

// Reserve memory for a copy of so many rows; returns false if there is none. With their grid, rows of ordered groups
// take more than the caller's numbers, and each level of each thread keeps its largest copy.
template <class Count>
bool NodeSearch<Count>::reserve_rows(LevelBuffers<Count>& buffers, std::size_t n_rows) {
    constexpr std::size_t kFew = std::size_t{1} << 15;
    if (!has_groups() || n_rows <= buffers.reserved_rows) {
        return true;
    }
    const std::size_t more = n_rows - buffers.reserved_rows;
    const std::size_t few = kFew * static_cast<std::size_t>(context_.options.tuning.threads);
    if (n_reserved_rows_.fetch_add(more) + more > std::max(few, root().matrix->ordered.n_entries / 5 * 3)) {
        n_reserved_rows_.fetch_sub(more);
        return false;
    }
    buffers.reserved_rows = n_rows;
    return true;
}

// Return the node with its rows moved together, and its columns merged, where that pays, else the node itself.
template <class Count>
const Node<Count>& NodeSearch<Count>::compacted(Space& space, int level, const Node<Count>& node) {
    if (!worth_compacting(space, level, node)) {
        return node;
    }
    const Node<Count>& dense = with_all_rows(space, level, node);
    if (level > 0 && context_.merges_columns()) {
        merge_columns(space.level(level));
    }
    return dense;
}

// Return the node in a matrix that has no other rows.
template <class Count>
const Node<Count>& NodeSearch<Count>::with_all_rows(Space& space, int level, const Node<Count>& node) const {
    if (level == 0) {
        return node;
    }
    LevelBuffers<Count>& buffers = space.level(level);
    Node<Count>& dense = buffers.dense;
    compact(*node.matrix, node.subset, context_.kernels, space.ticker, buffers.dense_matrix, dense.subset);
    dense.matrix = &buffers.dense_matrix;
    dense.fingerprint = node.fingerprint;
    dense.path = node.path;
    dense.conflicts = node.conflicts;
    dense.counts = node.counts;
    dense.whole = node.whole;
    if (has_groups()) {  // their grid is a new one
        count_node(dense, space.counter, context_.limits.track_rows);
    }
    return dense;
}

// Keep one column of those next to each other that divide the node's rows alike, and none that are constant.
template <class Count>
void NodeSearch<Count>::merge_columns(LevelBuffers<Count>& buffers) const {
    Node<Count>& node = buffers.dense;
    const RowSet rows = {*node.matrix, node.subset};
    list_distinct(node.counts, rows, buffers.kept, buffers.copies);
    if (padded(buffers.kept.size()) == node.matrix->n_columns) {
        return;
    }
    keep_columns(buffers.dense_matrix, buffers.kept, buffers.copies);
    const std::size_t n_columns = node.matrix->n_columns;
    const auto keep = [&](const auto* from, auto* to) {
        for (std::size_t i = 0; i < buffers.kept.size(); ++i) {
            to[i] = from[buffers.kept[i]];
        }
        std::fill(to + buffers.kept.size(), to + n_columns, 0);
    };
    Count* storage = node.storage.ensure(node.counts.rows.size() * n_columns);
    for (std::size_t c = 0; c < node.counts.rows.size(); ++c) {
        keep(node.counts.rows[c], storage + c * n_columns);
        node.counts.rows[c] = storage + c * n_columns;
    }
    if (node.counts.n_true != nullptr) {
        keep(node.counts.n_true, node.n_true_storage.ensure(n_columns));
        node.counts.n_true = node.n_true_storage.data();
    }
    std::vector<std::int32_t>& candidates = buffers.candidates;  // an earlier one costs as much as those that are gone
    std::erase_if(candidates, [&](std::int32_t column) { return node.matrix->place_of(column) < 0; });
}

template <class Count>
Result NodeSearch<Count>::solve(Space& space, int level, const Node<Count>& node, std::int64_t budget) {
    const std::int64_t leaf = context_.costs.leaf(node.whole.errors());
    const std::int64_t lower = context_.costs.lowest(node.whole.errors(), node.conflicts);
    if (node.counts.rows.size() < 2 || (context_.options.tuning.use_bounds && leaf <= lower)) {
        return {leaf, kLeaf, true};
    }
    const std::int64_t n_before = space.nodes;
    context_.count_nodes(space, 1);
    if (has_chains(level)) {
        const Result result =
            thresholds_.solve(space, level, with_all_rows(space, level, node), budget_or_none(budget));
        if (cache_) {
            cache_->store(node.fingerprint, context_.plan.height(level), {result.cost, result.column, result.solved});
        }
        return result;
    }
    // The grid of ordered groups should suit the node before it is ranked; and a lookahead has much to do.
    const bool is_compacted = has_groups() || context_.plan.looks_ahead(level);
    const Node<Count>& ranked = is_compacted ? compacted(space, level, node) : node;
    const std::int64_t completed = rank_candidates(space, level, ranked);
    const std::int64_t shallower = context_.plan.shallow_first(level) ? shallower_cost(space, level, node) : kInfinity;
    const bool shared = !ends_in_counts(level) && are_tasks(node, context_.plan.tries_below(level));
    Incumbent incumbent(std::min({leaf, budget, shallower + 1, budget_or_none(completed + 1)}), shared);
    const Node<Count>& tried = is_compacted ? ranked : compacted(space, level, node);
    CandidateGroup<Count> group{.level = level,
                                .node = tried,
                                .candidates = space.level(level).candidates,
                                .kernels = context_.kernels,
                                .shared = shared,
                                .lower = lower};
    try_candidates(space, group, shallower, incumbent);
    Result result = {std::min(leaf, incumbent.lowest_pruned()), kLeaf, false};
    if (incumbent.rank() >= 0) {
        result = {incumbent.cost(), group.column(incumbent.rank()), true};
    } else if (leaf < budget) {
        result = {leaf, kLeaf, true};
    }
    if (cache_) {
        cache_->store(node.fingerprint, context_.plan.height(level), {result.cost, result.column, result.solved});
    }
    if (!shared) {  // else other threads have counted some of the nodes
        space.level(level).expect(static_cast<double>(space.nodes - n_before) / 2);
    }
    return result;
}

// The cost of the best tree with one level less. Precondition: context_.plan.shallow_first(level). The next level's
// search runs on the node itself; it overwrites the buffers of the levels below this one only.
template <class Count>
std::int64_t NodeSearch<Count>::shallower_cost(Space& space, int level, const Node<Count>& node) {
    if (context_.plan.height(level) > 2) {
        return solve(space, level + 1, node, kInfinity).cost;
    }
    return std::min(context_.costs.leaf(node.whole.errors()),
                    context_.costs.two_leaves(space.last.fewest_errors(node)));
}

// `shallower`: the cost of the best tree with one level less, or kInfinity.
template <class Count>
void NodeSearch<Count>::try_candidates(Space& space, CandidateGroup<Count>& group, std::int64_t shallower,
                                       Incumbent& incumbent) {
    use_bounds(space, group, shallower);
    if (ends_in_counts(group.level)) {
        last_split_.begin(space, group);
        space.ordered_last.begin();
    }
    if (group.level == 0) {
        list_root(space, group.node, group.candidates);
    }
    if (group.size() == 0) {
        return;
    }
    // The first candidate is often the best one; its cost saves the others a lot of work, so they do not start with it.
    try_candidate(space, group, 0, incumbent);
    for_tasks(space, task_depth(group.level), group.shared, group.size() - 1,
              [&](Space& own, int i) { try_candidate(own, group, i + 1, incumbent); });
}

// Let tried splits bound the others, where that is valid and expected to pay. Where only drawn columns are counted, the
// fewest errors over all columns are not known.
template <class Count>
void NodeSearch<Count>::use_bounds(Space& space, CandidateGroup<Count>& group, std::int64_t shallower) {
    const bool deep = context_.plan.height(group.level) > 2;
    if (!context_.plan.bounds_sides(group.level) || !(deep || (!space.last.draws() && space.payoff.try_it()))) {
        return;
    }
    const Node<Count>& node = group.node;
    LevelBuffers<Count>& buffers = space.level(group.level);
    group.bounds = &buffers.bounds;
    buffers.places.clear();
    for (const std::int32_t column : group.candidates) {
        buffers.places.push_back(node.matrix->place_of(column));
    }
    group.bounds->reset(node.counts, node.whole.weight, context_.options.objective.cost_scale, node.matrix->n_columns,
                        buffers.places, context_.kernels);
    space.payoff.spend(group.bounds->cycles());
    if (shallower < kInfinity) {
        const std::int64_t free = shallower - context_.plan.cost_of_minimum(context_.plan.height(group.level) - 1);
        group.bounds->learn({{}, 0, {0, free}}, context_.kernels);  // as a split with no rows on one side
    }
}

template <class Count>
void NodeSearch<Count>::try_candidate(Space& space, CandidateGroup<Count>& group, int rank, Incumbent& incumbent) {
    const bool is_root = group.level == 0;
    const bool is_last = ends_in_counts(group.level);
    const bool exact = is_root && context_.options.tuning.exact_root && context_.plan.is_last_pass();
    const std::int64_t budget = exact ? kInfinity : budget_or_none(incumbent.budget(rank));
    const std::int64_t low = std::max(group.lower, group.split_bound(rank));
    if (budget <= low) {
        incumbent.offer(rank, low);  // it costs no less, so it cannot win
        if (is_root) {
            context_.root_record.note(rank, low, false);
        }
        if (low > group.lower && is_last) {
            space.payoff.save(cycles_to_try(group.node));
        }
        return;
    }
    const std::int64_t cost =
        is_last ? last_split_.cost(space, group, rank, budget) : split_cost_deep(space, group, rank, budget);
    space.pruned += cost >= budget ? 1 : 0;
    incumbent.offer(rank, cost);
    if (is_root) {
        context_.root_record.note(rank, cost, cost < budget);
        context_.live.lower_cost(incumbent.budget(group.size()));
    }
}

template <class Count>
void NodeSearch<Count>::run_tasks(Space& space, int depth, int n, const std::function<void(Space&, int)>& task) {
    const auto own = [&](int i) { spaces_.run_in(space, [&](Space& here) { task(here, i); }); };
    const auto elsewhere = [&](int i) { spaces_.run([&](Space& other) { task(other, i); }); };
    const auto idle = [&] { context_.monitor.check(context_.monitor.called_from_here()); };
    pool_->run(depth, n, own, elsewhere, idle);
    if (context_.monitor.stopped()) {
        throw Stopped{};
    }
}

template <class Count>
bool NodeSearch<Count>::are_tasks(const Node<Count>& node, double n_tries) const {
    const Tuning& tuning = context_.options.tuning;
    return tuning.threads > 1 && n_tries * cycles_to_try(node) >= tuning.task_cycles;
}

// Does another thread have nothing to do? Short searches end before threads are started. Precondition: threads > 1.
template <class Count>
bool NodeSearch<Count>::others_wait() {
    const Tuning& tuning = context_.options.tuning;
    if (!pool_ && context_.monitor.seconds() >= tuning.threads_after) {
        pool_ = std::make_unique<ThreadPool>(tuning.threads);
    }
    return pool_ && (pool_->has_idle_thread() || tuning.task_cycles == 0);
}

// Estimate what it takes to try a candidate of a node with two levels left: the smaller child has half of the words.
template <class Count>
double NodeSearch<Count>::cycles_to_try(const Node<Count>& node) const {
    return 300 + 0.4 * static_cast<double>(node.subset.words.size() * node.matrix->n_columns);
}

template <class Count>
std::int64_t NodeSearch<Count>::split_cost(Space& space, int level, const Node<Count>& node, std::int32_t column,
                                           std::int64_t budget) {
    if (context_.plan.height(level) == 1) {
        const Split<Count> split_on = context_.nodes.split_on(node, column, space.counter, space.level(level).split);
        return context_.costs.two_leaves(two_leaf_errors(split_on));
    }
    CandidateGroup<Count> group{
        .level = level, .node = node, .candidates = {&column, 1}, .kernels = context_.kernels, .shared = false};
    if (!ends_in_counts(level)) {
        return split_cost_deep(space, group, 0, budget);
    }
    last_split_.begin(space, group);
    space.ordered_last.begin();
    return last_split_.cost(space, group, 0, budget);
}

// The children are looked up and bounded before they are counted.
template <class Count>
std::int64_t NodeSearch<Count>::split_cost_deep(Space& space, CandidateGroup<Count>& group, int rank,
                                                std::int64_t budget) {
    const Node<Count>& node = group.node;
    const Split<Count> split_on =
        context_.nodes.split_on(node, group.column(rank), space.counter, space.level(group.level).split);
    std::int64_t cost[2] = {group.side_bound(rank, split_on.small_side()),
                            group.side_bound(rank, !split_on.small_side())};
    if (best_costs(space, group.level, node, split_on, budget, cost)) {
        const Node<Count>& small = space.level(group.level).child[0];
        const std::int64_t slack = context_.plan.cost_of_minimum(context_.plan.height(group.level + 1));
        group.learn({small.counts.rows, split_on.side(0).weight, {cost[0] - slack, cost[1] - slack}}, budget);
    }
    return cost[0] + cost[1];
}

template <class Count>
SideCosts NodeSearch<Count>::split_sides(Space& space, int level, const Node<Count>& node, std::int32_t column,
                                         std::int64_t budget, SideCosts bounds, const Count* false_counts) {
    const Split<Count> split_on = context_.nodes.split_on(node, column, space.counter, space.level(level).split);
    const bool small = split_on.small_side();
    std::int64_t cost[2] = {bounds.side[small ? 1 : 0], bounds.side[small ? 0 : 1]};
    if (context_.plan.height(level) == 2) {
        const auto costs = last_split_.ordered_costs(space, level, node, split_on, false_counts, budget);
        std::copy_n(costs.cost, 2, cost);
    } else {
        best_costs(space, level, node, split_on, budget, cost);
    }
    return small ? SideCosts{cost[1], cost[0]} : SideCosts{cost[0], cost[1]};
}

// The costs of the children's best trees.
template <class Count>
bool NodeSearch<Count>::best_costs(Space& space, int level, const Node<Count>& node, const Split<Count>& split_on,
                                   std::int64_t budget, std::int64_t cost[2]) {
    return child_costs(
        space, level, node, split_on, budget, {}, cost,
        [&](const Node<Count>& child, std::int64_t most) { return solve(space, level + 1, child, most).cost; });
}

template <class Count>
std::int32_t NodeSearch<Count>::best_column(Space& space, int level, const Node<Count>& node, std::int64_t budget) {
    const Result result = find_or_solve(space, level, node, budget);
    std::int32_t column = result.column;
    if (has_chains(level)) {
        if (column != kLeaf && context_.plan.height(level) > 1) {
            column = thresholds_.best_scored(space, level, with_all_rows(space, level, node), result);
        }
        if (level == 0) {
            list_best(space, node, column, result.cost);
        }
    }
    return column;
}

template <class Count>
void NodeSearch<Count>::keep_split(std::int64_t cost, std::int32_t column) {
    const std::lock_guard guard(split_mutex_);
    if (cost < split_.cost) {
        split_ = {cost, column, true};
    }
}

template <class Count>
std::int32_t NodeSearch<Count>::known_column(Space& space, int level, const Node<Count>& node) {
    if (must_be_leaf(level, node)) {
        return kLeaf;
    }
    if (context_.plan.height(level) == 1) {
        return solve_last(space, level, node).column;
    }
    CacheEntry entry;
    const bool is_known = cache_ && cache_->find(node.fingerprint, context_.plan.height(level), entry) && entry.solved;
    return is_known ? entry.column : kLeaf;
}

// Record the candidates of the root with the best scores, and the chosen one. No tree below any of them costs less.
template <class Count>
void NodeSearch<Count>::list_best(Space& space, const Node<Count>& node, std::int32_t column, std::int64_t cost) {
    context_.rank_ordered(space, 0, node, {RootChoices::kWeighed, false, false, false});
    std::vector<std::int32_t> candidates = space.level(0).candidates;
    if (column != kLeaf && std::find(candidates.begin(), candidates.end(), column) == candidates.end()) {
        candidates.push_back(column);
    }
    list_root(space, node, candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        context_.root_record.note(static_cast<int>(i), cost, candidates[i] == column);
    }
}

template <class Count>
Statistics NodeSearch<Count>::statistics(const Space& space) const {
    Statistics sum;
    const auto add = [&](const Space& s) {
        sum.nodes += s.nodes;
        sum.pruned += s.pruned;
        sum.cache_hits += s.cache_hits;
    };
    add(space);
    for (const auto& s : spaces_.spaces()) {
        add(*s);
    }
    sum.seconds = context_.monitor.seconds();
    sum.cache_bytes = cache_ ? static_cast<std::int64_t>(cache_->bytes()) : 0;
    sum.threads = pool_ ? pool_->size() : 1;
    sum.kernel = context_.kernels.name;
    sum.root = context_.root_record.finished();
    return sum;
}

template class NodeSearch<std::int32_t>;
template class NodeSearch<std::int64_t>;

}  // namespace topk
