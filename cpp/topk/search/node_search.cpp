// The search: branch and bound over candidates, a cache over subsets, and the tree read off at the end.
//
// Every subproblem is asked with a budget: the answer matters only if it costs less. Costs are exact below the budget
// and lower bounds from it on. Determinism under threads comes from the rank-aware budget (Incumbent): an earlier
// candidate's tree prunes ties, a later one's only what is strictly worse.
#include "topk/search/node_search.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>

#include "topk/search/candidates.hpp"
#include "topk/search/search.hpp"
#include "topk/search/validate.hpp"

namespace topk {
namespace {

// With fewer columns a search over all of them has no use for a shallower tree.
constexpr std::size_t kManyColumns = 50;

// Candidates of a large node whose children are counted at once.
constexpr std::size_t kBatch = 8;

// Candidates on all levels but the last, multiplied.
constexpr double kLongSearch = 128;

bool is_weighted(const Data& data) {
    return !data.row_weight.empty() ||
           std::any_of(data.class_weight.begin(), data.class_weight.end(), [](std::int64_t w) { return w != 1; });
}

}  // namespace

template <class Count>
Search<Count>::Search(const Data& data, const Options& options, const Kernels& kernels, std::int64_t total)
    : data_(data),
      options_(options),
      kernels_(kernels),
      weighted_(is_weighted(data)),
      limits_{.min_weight = std::max(options.min_weight, weighted_ ? 1 : options.min_rows),
              .min_rows = options.min_rows,
              .track_rows = weighted_ && options.min_rows > 1},
      k_(options.k),
      monitor_(options.poll ? std::function<void()>([this] {
          options_.poll({monitor_.seconds(), k_pass_, nodes_.load(std::memory_order_relaxed),
                         best_cost_.load(std::memory_order_relaxed)});
      })
                            : std::function<void()>()),
      scorer_(options, data.n_columns, data.n_classes, total, limits_.min_weight, kernels) {
    if (options.use_cache) {
        cache_ = std::make_unique<SubsetCache>(options.cache_bytes, options.threads > 1);
    }
}

// Whether so many nodes are to be expected that it pays to look at the rows first. Levels above the last but one.
template <class Count>
bool Search<Count>::is_long_search() const {
    double n_nodes = 1;
    for (std::size_t level = 0; level + 1 < options_.k.size(); ++level) {
        n_nodes *= std::min<double>(options_.k[level], static_cast<double>(data_.n_columns));
    }
    return n_nodes >= kLongSearch;
}

template <class Count>
void Search<Count>::build_root(Space& space) {
    const bool searching = std::any_of(k_.begin(), k_.end(), [](std::int32_t k) { return k > 1; });
    const bool row_keys = data_.n_rows <= options_.max_keyed_rows;
    const bool arrange = options_.arrange == Arrange::always || is_long_search();
    const MatrixExtras extras = {.conflicts = options_.use_bounds && arrange,
                                 .keys = enumerates_ || (cache_ && searching && row_keys),
                                 .arrange = arrange ? options_.arrange : Arrange::never};
    build_matrix(data_, extras, kernels_, space.ticker, matrix_, root_.subset);
    if (cache_ && searching && !row_keys && !enumerates_) {
        literal_keys_ = LiteralKeys(matrix_, root_.subset, data_.n_columns, space.ticker);
    }
    root_.matrix = &matrix_;
    std::vector<Count> totals(static_cast<std::size_t>(data_.n_classes), 0);
    for (std::size_t i = 0; i < data_.n_rows; ++i) {
        const auto c = static_cast<std::size_t>(data_.classes[i]);
        const std::int64_t row = data_.row_weight.empty() ? 1 : data_.row_weight[i];
        totals[c] += static_cast<Count>(row * data_.class_weight[c]);
    }
    root_.key = subset_key(matrix_, root_.subset);
    root_.conflicts = space.counter.conflicts(matrix_, root_.subset);
    for (std::size_t c = 0; c < totals.size(); ++c) {
        if (totals[c] > 0) {
            add_total(root_, static_cast<std::int32_t>(c), totals[c]);
        }
    }
    count_node(root_, space.counter, limits_.track_rows);
}

template <class Count>
Solution Search<Count>::run() {
    const std::unique_ptr<Space> space = make_space();
    std::unique_ptr<TreeNode> best;
    try {
        find_best(*space, best);
        return finish(*best, *space, true);
    } catch (const Stopped&) {
        monitor_.rethrow();
        return finish(*best, *space, false);
    }
}

// One pass for the k asked for; with a time limit or a caller who wants to see trees, passes of k = 1, 2, 4, ... first,
// so that there is always a complete tree to return, in `best`. The greedy pass is not subject to the limit.
template <class Count>
void Search<Count>::find_best(Space& space, std::unique_ptr<TreeNode>& best) {
    build_root(space);
    const std::int32_t widest = k_.empty() ? 1 : *std::max_element(k_.begin(), k_.end());
    std::int32_t k = options_.time_limit > 0 || options_.on_tree ? 1 : widest;
    best = search_pass(space, k, k < widest ? kInfinity : known_budget());
    if (options_.time_limit > 0) {
        monitor_.set_time_limit(options_.time_limit);
    }
    while (k < widest) {
        k = k > widest / 2 ? widest : 2 * k;
        // The budget lets through trees of the cost already known: the tree of a wider k may differ from it.
        const std::int64_t budget = best->cost + 1;
        best = search_pass(space, k, k < widest ? budget : std::min(budget, known_budget()));
    }
}

// The tree for at most k candidates per level.
template <class Count>
std::unique_ptr<TreeNode> Search<Count>::search_pass(Space& space, std::int32_t k, std::int64_t budget) {
    for (std::size_t level = 0; level < k_.size(); ++level) {
        k_[level] = std::min(options_.k[level], k);
    }
    k_pass_ = k;
    is_last_pass_ = options_.k.empty() || k >= *std::max_element(options_.k.begin(), options_.k.end());
    if (cache_ && k_reached_ > 0) {
        cache_->clear();  // what is known holds for the narrower search only
    }
    const bool greedy = std::all_of(k_.begin(), k_.end(), [](std::int32_t width) { return width == 1; });
    auto tree = greedy ? greedy_tree(space, 0, root_) : search(space, budget);
    k_reached_ = k;
    last_choices_ = std::move(choices_);
    choices_ = {};
    report_tree(*tree, space);
    return tree;
}

// The budget is above the cost of some tree, if the caller was right about the cost he knows.
template <class Count>
std::unique_ptr<TreeNode> Search<Count>::search(Space& space, std::int64_t budget) {
    auto tree = read_tree(space, 0, root_, budget);
    return tree->cost < budget ? std::move(tree) : read_tree(space, 0, root_, kInfinity);
}

// The tree of a pass: for the trace, and for the caller if it is better than those before.
template <class Count>
void Search<Count>::report_tree(const TreeNode& tree, Space& space) {
    report_cost(tree.cost);
    const bool better = trace_.empty() || tree.cost < trace_.back().cost;
    trace_.push_back({monitor_.seconds(), k_reached_, tree.cost});
    if (better && options_.on_tree) {
        options_.on_tree(finish(tree, space, false));
    }
}

template <class Count>
std::unique_ptr<TreeNode> Search<Count>::leaf_node(const Space& space, const Node<Count>& node) const {
    auto leaf = std::make_unique<TreeNode>();
    const std::vector<Count>& totals = node.counts.totals;
    const auto heaviest = std::max_element(totals.begin(), totals.end()) - totals.begin();
    const std::int32_t predicted = node.counts.class_index[static_cast<std::size_t>(heaviest)];
    leaf->n_rows = static_cast<std::int64_t>(space.counter.n_rows(*node.matrix, node.subset));
    leaf->n_wrong =
        leaf->n_rows - static_cast<std::int64_t>(space.counter.n_rows(*node.matrix, node.subset, predicted));
    leaf->class_weight.assign(static_cast<std::size_t>(data_.n_classes), 0);
    for (std::size_t c = 0; c < totals.size(); ++c) {
        leaf->class_weight[static_cast<std::size_t>(node.counts.class_index[c])] = totals[c];
    }
    leaf->cost = leaf_cost(node.whole.errors());
    return leaf;
}

// With one candidate per node there is nothing to search: split while possible, keep the splits that pay.
template <class Count>
std::unique_ptr<TreeNode> Search<Count>::greedy_tree(Space& space, int level, const Node<Count>& node) {
    auto tree = leaf_node(space, node);
    if (height(level) == 0 || node.counts.totals.size() < 2) {
        return tree;
    }
    count_nodes(space, 1);
    Level<Count>& buffers = space.levels[static_cast<std::size_t>(level)];
    std::int64_t* keys = buffers.keys.ensure(node.matrix->n_columns);
    score(space, node.counts, keys);
    const std::int64_t best = *std::max_element(keys, keys + data_.n_columns);
    if (best == kNoKey) {
        return tree;
    }
    const Split<Count> split_on(node.counts, key_column(best));
    if (level == 0) {
        list_choices(node, {key_column(best)});
    }
    grow_children(space, level, node, split_on, buffers.child);
    auto small_tree = greedy_tree(space, level + 1, buffers.child[0]);
    auto large_tree = greedy_tree(space, level + 1, buffers.child[1]);
    if (level == 0) {
        note_choice(0, small_tree->cost + large_tree->cost, true);
    }
    if (small_tree->cost + large_tree->cost < tree->cost) {
        join(*tree, split_on, std::move(small_tree), std::move(large_tree));
    }
    return tree;
}

// The tree that the search found, node by node from the root: columns come from the cache or are searched for again.
template <class Count>
std::unique_ptr<TreeNode> Search<Count>::read_tree(Space& space, int level, const Node<Count>& node,
                                                   std::int64_t budget) {
    auto tree = leaf_node(space, node);
    if (height(level) == 0 || node.counts.totals.size() < 2) {
        return tree;
    }
    const std::int32_t column = best_column(space, level, node, std::min(budget, tree->cost + 1));
    if (column == kLeaf) {
        return tree;
    }
    const Split<Count> split_on(node.counts, column);
    Node<Count> child[2];
    grow_children(space, level, node, split_on, child);
    auto small_tree = read_tree(space, level + 1, child[0], kInfinity);
    auto large_tree = read_tree(space, level + 1, child[1], kInfinity);
    join(*tree, split_on, std::move(small_tree), std::move(large_tree));
    return tree;
}

template <class Count>
std::int32_t Search<Count>::best_column(Space& space, int level, const Node<Count>& node, std::int64_t budget) {
    if (height(level) == 1) {
        return solve_last(space, level, node).column;
    }
    CacheEntry entry;
    if (cache_ && cache_->find(node.key, height(level), entry) && entry.solved) {
        return entry.column;
    }
    return solve_node(space, level, node, budget).column;
}

// The children of a split of the finished tree. Those that must be leaves need no counts of columns.
template <class Count>
void Search<Count>::grow_children(Space& space, int level, const Node<Count>& node, const Split<Count>& split_on,
                                  Node<Count> child[2]) {
    open_children(space, node, split_on, child);
    if (height(level) > 1) {
        count_children(space, node, split_on, child);
        return;
    }
    split(*node.matrix, node.subset, split_on.column, !split_on.small_side, child[1].subset);
    set_totals(node.counts, split_on.column, split_on.small_side, child[0]);
    set_totals(node.counts, split_on.column, !split_on.small_side, child[1]);
}

// What identifies and bounds the two children of a split, before anything is counted.
template <class Count>
void Search<Count>::open_children(Space& space, const Node<Count>& node, const Split<Count>& split_on,
                                  Node<Count> child[2]) {
    const BitMatrix& matrix = *node.matrix;
    child[0].matrix = child[1].matrix = node.matrix;
    split(matrix, node.subset, split_on.column, split_on.small_side, child[0].subset);
    if (literal_keys_.empty()) {
        child[0].key = subset_key(matrix, child[0].subset);
        child[1].key = node.key ^ child[0].key;
    } else {
        child[0].key = node.key ^ literal_keys_.key(split_on.column, split_on.small_side);
        child[1].key = node.key ^ literal_keys_.key(split_on.column, !split_on.small_side);
    }
    child[0].conflicts = space.counter.conflicts(matrix, child[0].subset);
    child[1].conflicts = static_cast<Count>(node.conflicts - child[0].conflicts);
}

// The smaller child is counted, the larger one is the difference.
template <class Count>
void Search<Count>::count_children(Space& space, const Node<Count>& node, const Split<Count>& split_on,
                                   Node<Count> child[2]) {
    split(*node.matrix, node.subset, split_on.column, !split_on.small_side, child[1].subset);
    set_totals(node.counts, split_on.column, split_on.small_side, child[0]);
    count_node(child[0], space.counter, limits_.track_rows);
    subtract_node(node.counts, child[0].counts, node.matrix->n_columns, child[1]);
}

template <class Count>
void Search<Count>::score(Space& space, const Counts<Count>& counts, std::int64_t* keys) const {
    space.ticker.tick(scorer_.work(counts.rows.size()));
    scorer_.keys(counts, matrix_.n_columns, keys);
}

// The k best columns of a node, best first, into the level's candidates.
template <class Count>
void Search<Count>::rank_candidates(Space& space, int level, const Node<Count>& node) const {
    if (space.drawn) {
        rank_drawn(space, level, node);
        return;
    }
    Level<Count>& buffers = space.levels[static_cast<std::size_t>(level)];
    std::int64_t* keys = buffers.keys.ensure(matrix_.n_columns);
    score(space, node.counts, keys);
    std::vector<std::int64_t>& sorted = buffers.sorted_keys;
    const auto k = static_cast<std::size_t>(k_[static_cast<std::size_t>(level)]);
    if (options_.distinct_splits && (enumerates_ || !all_columns(level))) {
        const RowSet rows = {*node.matrix, node.subset};
        best_distinct_keys(keys, data_.n_columns, k, node.counts, rows, scorer_.is_symmetric(), sorted);
    } else {  // all columns: those that are passed over would lose their ties anyway
        best_keys(keys, data_.n_columns, k, sorted);
    }
    buffers.candidates.clear();
    for (const std::int64_t key : sorted) {
        buffers.candidates.push_back(key_column(key));
    }
}

// Likewise, only the columns of features that the node draws being scored.
template <class Count>
void Search<Count>::rank_drawn(Space& space, int level, const Node<Count>& node) const {
    Level<Count>& buffers = space.levels[static_cast<std::size_t>(level)];
    DrawnColumns<Count>& drawn = *space.drawn;
    drawn.open(node);
    drawn.take_node();
    const std::size_t n_columns = drawn.n_columns();
    std::int64_t* keys = buffers.keys.ensure(n_columns);
    space.ticker.tick(scorer_.work(node.counts.rows.size()));
    scorer_.all_keys(drawn.counts(), n_columns, keys);
    best_keys(keys, n_columns, static_cast<std::size_t>(k_[static_cast<std::size_t>(level)]), buffers.sorted_keys);
    buffers.candidates.clear();
    for (const std::int64_t key : buffers.sorted_keys) {
        buffers.candidates.push_back(drawn.column(static_cast<std::size_t>(key_column(key))));
    }
}

// One level left: the candidates' costs follow from the counts.
template <class Count>
Result Search<Count>::solve_last(Space& space, int level, const Node<Count>& node) {
    count_nodes(space, 1);
    Level<Count>& buffers = space.levels[static_cast<std::size_t>(level)];
    rank_candidates(space, level, node);
    if (level == 0) {
        list_choices(node, buffers.candidates);
    }
    Result best = {leaf_cost(node.whole.errors()), kLeaf, true};
    int rank = 0;
    for (const std::int32_t column : buffers.candidates) {
        const Split<Count> split_on(node.counts, column);
        const std::int64_t cost = leaf_cost(split_on.side[0].errors()) + leaf_cost(split_on.side[1].errors());
        if (level == 0) {
            note_choice(rank++, cost, true);
        }
        if (cost < best.cost) {
            best = {cost, column, true};
        }
    }
    return best;
}

// Moving the rows together costs about as much as twelve passes over them, and makes every pass below cheaper by the
// part of the words that is empty. With two levels left about half of the candidates are worth a pass; with more, each
// of them has passes below it.
template <class Count>
bool Search<Count>::worth_compacting(int level, const Node<Count>& node) const {
    constexpr double kPassesToPay = 12;
    const double k = std::min<double>(k_[static_cast<std::size_t>(level)], static_cast<double>(data_.n_columns));
    const double passes = height(level) == 2 ? k / 2 : k * k;
    if (passes <= kPassesToPay) {
        return false;
    }
    const auto rows = static_cast<double>(kernels_.count_rows(node.subset.list(), nullptr));
    const double empty = 1 - rows / (64 * static_cast<double>(node.subset.masks.size()));
    return passes * empty > kPassesToPay;
}

// At least two levels left.
template <class Count>
Result Search<Count>::solve_node(Space& space, int level, const Node<Count>& node, std::int64_t budget) {
    const std::int64_t leaf = leaf_cost(node.whole.errors());
    const std::int64_t lower = lowest_cost(node.whole.errors(), node.conflicts);
    if (node.counts.rows.size() < 2 || (options_.use_bounds && leaf <= lower)) {
        return {leaf, kLeaf, true};
    }
    count_nodes(space, 1);
    Level<Count>& buffers = space.levels[static_cast<std::size_t>(level)];
    rank_candidates(space, level, node);
    const std::int64_t shallower = deepens(level) ? shallower_cost(space, level, node) : kInfinity;
    Incumbent incumbent(std::min({leaf, budget, shallower + 1}), may_be_parallel(level));
    if (worth_compacting(level, node)) {
        Node<Count>& dense = buffers.dense;
        compact(*node.matrix, node.subset, kernels_, buffers.dense_matrix, dense.subset);
        dense.matrix = &buffers.dense_matrix;
        dense.key = node.key;
        dense.conflicts = node.conflicts;
        dense.counts = node.counts;
        dense.whole = node.whole;
        try_candidates(space, level, dense, lower, shallower, incumbent);
    } else {
        try_candidates(space, level, node, lower, shallower, incumbent);
    }
    Result result = {std::min(leaf, incumbent.lowest_pruned()), kLeaf, false};
    if (incumbent.rank() >= 0) {
        result = {incumbent.cost(), buffers.candidates[static_cast<std::size_t>(incumbent.rank())], true};
    } else if (leaf < budget) {
        result = {leaf, kLeaf, true};
    }
    if (cache_) {
        cache_->store(node.key, height(level), {result.cost, result.column, result.solved});
    }
    return result;
}

// Whether a tree of one level less is looked for first. It costs little where all columns are candidates, no deeper
// tree costs more, and a split that leaves nearly all rows on one side can be little better than it.
template <class Count>
bool Search<Count>::deepens(int level) const {
    return all_columns(level) && data_.n_columns >= kManyColumns && bounds_sides(level);
}

template <class Count>
std::int64_t Search<Count>::shallower_cost(Space& space, int level, const Node<Count>& node) {
    if (height(level) > 2) {
        return solve_node(space, level + 1, node, kInfinity).cost;
    }
    const Count fewest = space.last.fewest_errors(node);
    const std::int64_t leaf = leaf_cost(node.whole.errors());
    const bool split_exists = fewest != std::numeric_limits<Count>::max();
    return split_exists ? std::min(leaf, leaf_cost(fewest) + options_.leaf_penalty) : leaf;
}

// `lower`: what every tree of the node costs at least. `shallower`: the cost of the best tree with one level less, if
// known.
template <class Count>
void Search<Count>::try_candidates(Space& space, int level, const Node<Count>& node, std::int64_t lower,
                                   std::int64_t shallower, Incumbent& incumbent) {
    const std::vector<std::int32_t>& candidates = space.levels[static_cast<std::size_t>(level)].candidates;
    const auto n = static_cast<int>(candidates.size());
    Family<Count> family{node, candidates, kernels_, nullptr, may_be_parallel(level)};
    // Where only what children draw is counted, the fewest errors over all columns are not known.
    if (bounds_sides(level) && (height(level) > 2 || (!space.last.draws() && space.payoff.try_it()))) {
        family.bounds = &space.levels[static_cast<std::size_t>(level)].bounds;
        family.bounds->reset(node.counts, node.whole.weight, options_.cost_scale, matrix_.n_columns, candidates);
        space.payoff.spend(family.bounds->cycles());
        if (shallower < kInfinity) {
            family.bounds->learn({{}, 0, {0, shallower}}, kernels_);  // a split with no row on one side
        }
    }
    if (height(level) == 2) {
        space.last.begin(node);
    }
    if (level == 0) {
        list_choices(node, candidates);
    }
    const bool exact = level == 0 && options_.exact_root && is_last_pass_;
    const auto try_one = [&](Space& own_space, int rank) {
        const std::int64_t budget = exact ? kInfinity : budget_or_none(incumbent.budget(rank));
        const std::int64_t low = std::max(lower, family.lower(rank));
        if (budget <= low) {
            incumbent.offer(rank, low);  // it costs no less, so it cannot win
            if (level == 0) {
                note_choice(rank, low, false);
            }
            if (low > lower && height(level) == 2) {
                own_space.payoff.save(cycles_to_try(node));
            }
            return;
        }
        const std::int64_t cost = height(level) == 2 ? split_cost_last(own_space, level, family, rank, budget)
                                                     : split_cost(own_space, level, family, rank, budget);
        own_space.pruned += cost >= budget ? 1 : 0;
        incumbent.offer(rank, cost);
        if (level == 0) {
            note_choice(rank, cost, cost < budget);
            report_cost(incumbent.budget(n));
        }
    };
    int rank = 0;
    for (; rank < n && !start_threads(level); ++rank) {
        try_one(space, rank);
    }
    if (rank == n) {
        return;
    }
    const auto task = [&](int i) { lend([&](Space& own_space) { try_one(own_space, rank + i); }); };
    const auto idle = [&] {
        if (monitor_.called_from_here()) {
            monitor_.check();
        }
    };
    pool_->run(level, n - rank, task, idle);
    if (monitor_.stopped()) {
        throw Stopped{};
    }
}

// Whether the candidates of this level are to be tried by several threads. Short searches end before they start.
template <class Count>
bool Search<Count>::start_threads(int level) {
    if (!may_be_parallel(level)) {
        return false;
    }
    if (!pool_ && monitor_.seconds() >= options_.threads_after) {
        pool_ = std::make_unique<ThreadPool>(options_.threads);
    }
    return pool_ != nullptr;
}

// Trying a candidate of a node with two levels left: counting the small child, which has half of the words, and what
// goes with it.
template <class Count>
double Search<Count>::cycles_to_try(const Node<Count>& node) const {
    return 300 + 0.4 * static_cast<double>(node.subset.words.size() * matrix_.n_columns);
}

// The shared count is only for progress reports: it is kept up to date in steps.
template <class Count>
void Search<Count>::count_nodes(Space& space, std::int64_t n) {
    constexpr std::int64_t kStep = 1024;
    if ((space.nodes + n) / kStep != space.nodes / kStep) {
        nodes_.fetch_add(kStep, std::memory_order_relaxed);
    }
    space.nodes += n;
}

// The best cost so far, for progress reports: it never rises.
template <class Count>
void Search<Count>::report_cost(std::int64_t cost) {
    std::int64_t known = best_cost_.load(std::memory_order_relaxed);
    while ((known < 0 || cost < known) && !best_cost_.compare_exchange_weak(known, cost, std::memory_order_relaxed)) {
    }
}

// The candidates of the root as they are, before any of them is tried.
template <class Count>
void Search<Count>::list_choices(const Node<Count>& root, const std::vector<std::int32_t>& candidates) {
    const auto n_classes = static_cast<std::size_t>(data_.n_classes);
    choices_.column = candidates;
    choices_.cost.assign(candidates.size(), 0);
    choices_.exact.assign(candidates.size(), 0);
    choices_.true_weight.assign(std::min(candidates.size(), RootChoices::kWeighed) * n_classes, 0);
    for (std::size_t i = 0; i < std::min(candidates.size(), RootChoices::kWeighed); ++i) {
        for (std::size_t c = 0; c < root.counts.rows.size(); ++c) {
            choices_.true_weight[i * n_classes + static_cast<std::size_t>(root.counts.class_index[c])] =
                root.counts.rows[c][candidates[i]];
        }
    }
}

// What came of one of them; threads note different ones.
template <class Count>
void Search<Count>::note_choice(int rank, std::int64_t cost, bool exact) {
    choices_.cost[static_cast<std::size_t>(rank)] = cost;
    choices_.exact[static_cast<std::size_t>(rank)] = exact ? 1 : 0;
}

template <class Count>
std::unique_ptr<Workspace<Count>> Search<Count>::take_space() {
    const std::lock_guard guard(spaces_mutex_);
    if (spaces_.empty()) {
        return make_space();
    }
    std::unique_ptr<Space> space = std::move(spaces_.back());
    spaces_.pop_back();
    return space;
}

// Runs a task with a workspace that no one else uses meanwhile. What it throws ends the search, not the thread.
template <class Count>
void Search<Count>::lend(const std::function<void(Space&)>& task) {
    if (monitor_.called_from_here()) {
        monitor_.check();  // tasks may be too short for their tickers to do it
    }
    if (monitor_.stopped()) {
        return;
    }
    try {
        std::unique_ptr<Space> space = take_space();
        space->ticker = Ticker(monitor_);
        try {
            task(*space);
        } catch (const Stopped&) {
            // The reason is in the monitor already.
        }
        const std::lock_guard guard(spaces_mutex_);
        spaces_.push_back(std::move(space));
    } catch (...) {
        monitor_.fail(std::current_exception());
    }
}

// At least two levels left below the split: the children are looked up, bounded, and only then counted.
template <class Count>
std::int64_t Search<Count>::split_cost(Space& space, int level, Family<Count>& family, int rank, std::int64_t budget) {
    const Node<Count>& node = family.node;
    Node<Count>* child = space.levels[static_cast<std::size_t>(level)].child;
    const Split<Count> split_on(node.counts, family.column(rank));
    open_children(space, node, split_on, child);
    std::int64_t cost[2];  // so far a lower bound
    bool solved[2];
    for (int i = 0; i < 2; ++i) {
        const std::int64_t leaf = leaf_cost(split_on.side[i].errors());
        cost[i] = std::max(lowest_cost(split_on.side[i].errors(), child[i].conflicts),
                           family.lower(rank, (i == 0) == split_on.small_side));
        solved[i] = leaf <= cost[i];
        cost[i] = std::min(leaf, cost[i]);
        CacheEntry entry;
        if (!solved[i] && cache_ && cache_->find(child[i].key, height(level + 1), entry)) {
            ++space.cache_hits;
            cost[i] = std::max(cost[i], entry.cost);
            solved[i] = entry.solved;
        }
    }
    if ((solved[0] && solved[1]) || cost[0] + cost[1] >= budget) {
        return cost[0] + cost[1];
    }
    count_children(space, node, split_on, child);
    const int first = split_on.side[0].errors() > split_on.side[1].errors() ? 0 : 1;
    for (const int i : {first, 1 - first}) {
        if (!solved[i]) {
            cost[i] = solve_node(space, level + 1, child[i], budget_or_none(budget - cost[1 - i])).cost;
        }
        if (cost[0] + cost[1] >= budget) {
            break;
        }
    }
    family.learn({child[0].counts.rows, split_on.side[0].weight, {cost[0], cost[1]}}, budget);
    return cost[0] + cost[1];
}

// One level left below the split. The fewest errors over all columns bound the children from below; only if that beats
// the budget are the columns ranked.
template <class Count>
std::int64_t Search<Count>::split_cost_last(Space& space, int level, Family<Count>& family, int rank,
                                            std::int64_t budget) {
    const Node<Count>& node = family.node;
    const std::int32_t column = family.column(rank);
    const Split<Count> split_on(node.counts, column);
    if (is_large(node) && !space.last.draws() && !space.last.is_ahead(column)) {
        space.last.count_ahead(node, family.next(rank, kBatch), space.counter);
    }
    const bool needs_rows = !space.last.is_ahead(column) || node.matrix->has_conflicts || limits_.track_rows;
    const Count small_conflicts = needs_rows ? space.last.open(node, split_on, space.counter) : Count{0};
    const Count conflicts[2] = {small_conflicts, static_cast<Count>(node.conflicts - small_conflicts)};
    std::int64_t leaf[2];
    std::int64_t cost[2];
    for (int i = 0; i < 2; ++i) {
        leaf[i] = leaf_cost(split_on.side[i].errors());
        cost[i] = lowest_cost(split_on.side[i].errors(), conflicts[i]);
    }
    const bool leaves = cost[0] == leaf[0] && cost[1] == leaf[1];
    if (leaves || cost[0] + cost[1] >= budget) {
        return cost[0] + cost[1];
    }
    if (space.last.draws()) {
        return split_cost_drawn(space, level, leaf, cost, budget);
    }
    count_nodes(space, 2);
    Count fewest[2];
    space.last.count(node, split_on, space.counter, fewest);
    bool exact[2];
    for (int i = 0; i < 2; ++i) {
        const bool split_exists = fewest[i] != std::numeric_limits<Count>::max();
        const std::int64_t best_split = split_exists ? leaf_cost(fewest[i]) + options_.leaf_penalty : kInfinity;
        cost[i] = std::min(leaf[i], best_split);
        exact[i] = leaf[i] <= best_split || all_columns(level + 1);
    }
    if (family.learn({space.last.small_rows(), split_on.side[0].weight, {cost[0], cost[1]}}, budget)) {
        space.payoff.spend(family.bounds->cycles());
    }
    for (int i = 0; i < 2 && cost[0] + cost[1] < budget; ++i) {
        if (!exact[i]) {
            const auto k = static_cast<std::size_t>(k_[static_cast<std::size_t>(level) + 1]);
            const Count errors = space.last.best_of_k(node, split_on, i, k, fewest[i], space.ticker);
            cost[i] = std::min(leaf[i], leaf_cost(errors) + options_.leaf_penalty);
        }
    }
    return cost[0] + cost[1];
}

// The same where children draw features: one child after the other, the larger one first, since it has more of the
// cost. `cost`: so far lower bounds.
template <class Count>
std::int64_t Search<Count>::split_cost_drawn(Space& space, int level, const std::int64_t leaf[2], std::int64_t cost[2],
                                             std::int64_t budget) {
    const auto k = static_cast<std::size_t>(k_[static_cast<std::size_t>(level) + 1]);
    const auto with_split = [&](Count errors) {
        const bool exists = errors != std::numeric_limits<Count>::max();
        return exists ? leaf_cost(errors) + options_.leaf_penalty : kInfinity;
    };
    for (const int i : {1, 0}) {
        if (cost[i] == leaf[i]) {
            continue;
        }
        count_nodes(space, 1);
        const Count fewest = space.last.count_drawn(i, space.counter);
        cost[i] = std::min(leaf[i], with_split(fewest));
        if (cost[i] < leaf[i] && cost[0] + cost[1] < budget) {
            cost[i] = std::min(leaf[i], with_split(space.last.best_of_k_drawn(k, fewest, space.ticker)));
        }
        if (cost[0] + cost[1] >= budget) {
            break;
        }
    }
    return cost[0] + cost[1];
}

template <class Count>
Solution Search<Count>::finish(const TreeNode& tree, Space& space, bool complete) {
    Solution solution = flatten(tree);
    solution.complete = complete;
    Statistics& statistics = solution.statistics;
    const auto add = [&](const Space& s) {
        statistics.nodes += s.nodes;
        statistics.pruned += s.pruned;
        statistics.cache_hits += s.cache_hits;
    };
    add(space);
    for (const auto& s : spaces_) {
        add(*s);
    }
    statistics.seconds = monitor_.seconds();
    statistics.cache_bytes = cache_ ? static_cast<std::int64_t>(cache_->bytes()) : 0;
    statistics.k_reached = k_reached_;
    statistics.threads = pool_ ? pool_->size() : 1;
    statistics.kernel = kernels_.name;
    statistics.trace = trace_;
    statistics.root = last_choices_;
    return solution;
}

template class Search<std::int32_t>;
template class Search<std::int64_t>;

Solution solve(const Data& data, const Options& options) {
    const std::int64_t total = validate(data, options);
    const Kernels& kernels = find_kernels(options.kernel);
    if (total < INT32_MAX) {
        return Search<std::int32_t>(data, options, kernels, total).run();
    }
    return Search<std::int64_t>(data, options, kernels, total).run();
}

}  // namespace topk
