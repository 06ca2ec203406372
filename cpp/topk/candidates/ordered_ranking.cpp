// Bounds for blocks, rows of the blocks that are left, runs of columns.
#include "topk/candidates/ordered_ranking.hpp"

#include <algorithm>
#include <unordered_map>

#include "topk/score/feature_draw.hpp"

namespace topk {

// A feature that cannot split the subset is passed over. Whether a group can follows from its grid, or from all rows of
// its blocks if no threshold of the grid can.
template <class Count>
void OrderedRanking<Count>::draw() {
    drawn_.assign(data_.groups.size(), true);
    const FeatureDraw& draw = objective_.draw;
    if (draw.n_features == 0) {
        return;
    }
    const std::size_t n_bits = view_->matrix().n_bits;
    std::vector<std::uint8_t> splits(draw.n_all, 0);
    for (std::size_t j = 0; j < n_bits; ++j) {
        std::uint8_t& flag = splits[static_cast<std::size_t>(draw.of_column[j])];
        flag = flag != 0 || keys_[j] != kNoScoreKey ? 1 : 0;
    }
    for (std::size_t g = 0; g < data_.groups.size(); ++g) {
        std::uint8_t& flag = splits[static_cast<std::size_t>(data_.groups[g].feature)];
        flag = flag != 0 || can_split(g) ? 1 : 0;
    }
    const Counts<Count>& counts = view_->counts();
    const std::uint64_t hash = draw_hash(draw.seed, counts.class_index, counts.totals);
    std::vector<std::uint64_t> numbers;
    for (std::size_t f = 0; f < draw.n_all; ++f) {
        if (splits[f] != 0) {
            numbers.push_back(draw_number(hash, f));
        }
    }
    if (numbers.size() <= draw.n_features) {
        return;
    }
    const auto last = numbers.begin() + static_cast<std::ptrdiff_t>(draw.n_features - 1);
    std::nth_element(numbers.begin(), last, numbers.end());
    const auto is_drawn = [&](std::int32_t f) { return draw_number(hash, static_cast<std::size_t>(f)) <= *last; };
    for (std::size_t j = 0; j < n_bits; ++j) {
        keys_[j] = is_drawn(draw.of_column[j]) ? keys_[j] : kNoScoreKey;
    }
    for (std::size_t g = 0; g < data_.groups.size(); ++g) {
        drawn_[g] = is_drawn(data_.groups[g].feature);
        const OrderedRows::Grid& grid = view_->grid(g);
        std::fill_n(keys_.data() + grid.first_column, drawn_[g] ? 0 : grid.cuts.size(), kNoScoreKey);
    }
}

template <class Count>
bool OrderedRanking<Count>::can_split(std::size_t g) {
    const OrderedRows::Grid& grid = view_->grid(g);
    const ScoreKey* keys = keys_.data() + grid.first_column;
    if (std::any_of(keys, keys + grid.cuts.size(), [](ScoreKey key) { return key != kNoScoreKey; })) {
        return true;
    }
    start(SIZE_MAX);
    bound_blocks(g);
    for (OpenBlock& block : blocks_) {
        refine(block);
    }
    take_second_readings(g);
    return !runs_.empty();
}

// Do the readings of the group's thresholds differ, or is a column that all rows agree on a candidate?
template <class Count>
bool OrderedRanking<Count>::has_readings(std::size_t g) const {
    return all_ ? data_.groups[g].has_missing && view_->grid(g).n_present > 0 : view_->has_missing(g);
}

// The limit starts as the k-th score of the columns that are scored anyway.
template <class Count>
void OrderedRanking<Count>::start(std::size_t k) {
    runs_.clear();
    blocks_.clear();
    n_looked_at_ = 0;
    best_scores_.begin(k);
    const std::size_t n_columns = view_->matrix().n_columns;
    if (k != SIZE_MAX) {
        lowest_candidate(keys_.data(), n_columns, {k, objective_.second_reading, {}, &scorer_.kernels()}, best_);
        for (std::size_t i = 0; i < std::min(k, best_.size()); ++i) {
            if (best_[i] != kNoScoreKey) {
                best_scores_.add(score_of(best_[i]), 1);
            }
        }
    }
    // Ties are broken by the order of all columns, in which those of bits may come after those of groups.
    const ScoreKey lowest = limit() << kColumnBits;
    scored_.resize(n_columns);
    std::size_t n = 0;
    for (std::size_t j = 0; j < n_columns; ++j) {
        scored_[n] = j;
        n += keys_[j] >= lowest ? 1U : 0U;
    }
    scored_.resize(n);
}

template <class Count>
void OrderedRanking<Count>::take_bits() {
    const std::span<const std::int32_t> second = objective_.second_reading;
    const std::size_t n_bits = view_->matrix().n_bits;
    std::vector<std::int32_t> first_of(second.empty() ? 0 : n_bits, -1);
    for (std::size_t j = 0; j < second.size(); ++j) {
        if (second[j] > 0) {
            first_of[j + static_cast<std::size_t>(second[j])] = static_cast<std::int32_t>(j);
        }
    }
    for (const std::size_t j : scored_) {
        if (j >= n_bits) {
            break;
        }
        const bool is_second = !first_of.empty() && first_of[j] >= 0;
        const auto first = is_second ? static_cast<std::size_t>(first_of[j]) : j;
        const std::int64_t score = score_of(keys_[j]);
        if (all_ || !is_second || score != score_of(keys_[first])) {
            runs_.push_back({score, column_errors(j), columns_.of_bits(j), columns_.of_bits(first), 1});
        }
    }
}

template <class Count>
std::int64_t OrderedRanking<Count>::column_errors(std::size_t column) const {
    const Counts<Count>& counts = view_->counts();
    std::int64_t heaviest[2] = {0, 0};
    for (std::size_t c = 0; c < counts.totals.size(); ++c) {
        const std::int64_t n_true = counts.rows[c][column];
        heaviest[0] = std::max(heaviest[0], n_true);
        heaviest[1] = std::max(heaviest[1], counts.totals[c] - n_true);
    }
    return view_->total() - heaviest[0] - heaviest[1];
}

template <class Count>
void OrderedRanking<Count>::bound_blocks(std::size_t g) {
    const OrderedRows::Grid& grid = view_->grid(g);
    if (grid.has_gaps) {
        std::int64_t* bounds = bounds_.ensure(grid.cuts.size());
        const bool has_bounds = scorer_.block_bounds(view_->counts(), terms_, grid.nested(), bounds);
        for (std::size_t block = 0; block < grid.cuts.size(); ++block) {
            if (!has_bounds) {
                bound_block(g, block, Reading::first);
            } else if (bounds[block] >= limit()) {
                blocks_.push_back({bounds[block], -1, g, block, Reading::first});
            }
        }
    }
    for (std::size_t block = 0; block < grid.cuts.size() && grid.has_gaps && has_readings(g); ++block) {
        bound_block(g, block, Reading::second);
    }
}

template <class Count>
void OrderedRanking<Count>::bound_block(std::size_t g, std::size_t block, Reading reading) {
    if (view_->grid(g).has_gap[block] == 0) {
        return;
    }
    view_->set_left(g, block, reading, low_);
    view_->set_left(g, block + 1, reading, high_);
    if (high_.total - low_.total >= 2) {
        const std::int64_t bound = scorer_.score_bound(terms_, low_.weights.data(), high_.weights.data());
        if (bound >= limit()) {
            blocks_.push_back({bound, -1, g, block, reading});
        }
    }
}

// Find the runs between two rows of a block.
template <class Count>
void OrderedRanking<Count>::refine(OpenBlock& block) {
    const OrderedRows& ordered = view_->matrix().ordered;
    view_->set_left(block.group, block.block, block.reading, low_);
    view_->walk(block.group, block.block, low_, [&](std::uint32_t before, std::uint32_t after) {
        if (!view_->is_admissible(low_)) {
            return;
        }
        const std::int64_t score = scorer_.split_score(terms_, low_.weights.data());
        block.best = std::max(block.best, score);
        if (score >= limit()) {
            const std::uint32_t first = ordered.rank(block.group, before);
            const std::uint32_t last = ordered.rank(block.group, after);
            add_run({score, view_->errors(low_), 0, 0, 0}, block.group, first, last, block.reading);
            best_scores_.add(score, block.reading == Reading::first ? last - first : 0);
        }
    });
}

// Add the run of the thresholds [first, last) of a group, with the score and the errors of `like`.
template <class Count>
void OrderedRanking<Count>::add_run(const Run& like, std::size_t g, std::size_t first, std::size_t last,
                                    Reading reading) {
    if (first < last) {
        runs_.push_back({like.score, like.errors, columns_.of_threshold(g, first, reading),
                         columns_.of_threshold(g, first, Reading::first), static_cast<std::uint32_t>(last - first)});
    }
}

// Find the runs that have a threshold of the grid among them.
template <class Count>
void OrderedRanking<Count>::take_cuts() {
    std::size_t g = 0;
    for (const std::size_t j : scored_) {
        const std::int64_t score = score_of(keys_[j]);
        if (j >= view_->matrix().n_bits && score >= limit()) {
            while (j >= view_->grid(g).first_column + view_->grid(g).cuts.size()) {
                ++g;
            }
            take_cut(g, j - view_->grid(g).first_column, Reading::first, score, column_errors(j));
        }
    }
}

template <class Count>
void OrderedRanking<Count>::take_second_readings(std::size_t g) {
    const std::size_t n_cuts = view_->grid(g).cuts.size();
    for (std::size_t i = 0; i + 1 < n_cuts && has_readings(g); ++i) {
        view_->set_left(g, i + 1, Reading::second, low_);
        if (view_->is_admissible(low_)) {
            const std::int64_t score = scorer_.split_score(terms_, low_.weights.data());
            if (score >= limit()) {
                take_cut(g, i, Reading::second, score, view_->errors(low_));
            }
        }
    }
}

// Where there are no rows on one side of the cut, all thresholds on that side belong to the run.
template <class Count>
void OrderedRanking<Count>::take_cut(std::size_t g, std::size_t i, Reading reading, std::int64_t score,
                                     std::int64_t errors) {
    const OrderedRows& ordered = view_->matrix().ordered;
    const OrderedRows::Grid& grid = view_->grid(g);
    const std::span<const std::uint32_t> own = ordered.of_group(g);
    const auto rank_after = [&](std::uint32_t entry) -> std::size_t {
        while (entry < grid.n_present && !view_->has_row(own[entry])) {
            ++entry;
        }
        return entry == grid.n_present ? data_.groups[g].n_thresholds() : ordered.rank(g, own[entry]);
    };
    std::uint32_t before = grid.cuts[i];
    while (before > 0 && !view_->has_row(own[before - 1])) {
        --before;
    }
    const Run like = {score, errors, 0, 0, 0};
    add_run(like, g, before == 0 ? 0 : ordered.rank(g, own[before - 1]), rank_after(grid.cuts[i]), reading);
    if (grid.cuts[i] == grid.n_present) {  // two more tests divide the rows in this way: thresholds below all rows, and
                                           // "is missing"
        add_run(like, g, 0, rank_after(0), Reading::second);
        const std::int32_t is_missing = columns_.of_threshold(g, 0, Reading::is_missing);
        runs_.push_back({score, errors, is_missing, is_missing, 1});
    }
}

// Does a run that is kept divide the rows in the same way?
template <class Count>
bool OrderedRanking<Count>::is_known(const Run& run, std::span<const Run> kept, const RowSet& rows) {
    const std::size_t n = kept.size();
    if (bits_.size() <= n) {
        bits_.resize(n + 1);
    }
    kept_bits_.resize(n);
    kept_bits_.push_back(bits_of(rows.matrix, columns_.place(run.column), bits_[n]));
    for (std::size_t i = n; i-- > 0 && kept[i].score == run.score;) {
        if (split_alike(rows, kept_bits_[i], kept_bits_[n])) {
            return true;
        }
    }
    return false;
}

// Returns false if a lower limit is needed to find k candidates.
template <class Count>
bool OrderedRanking<Count>::select(const RowSet& rows) {
    std::sort(runs_.begin(), runs_.end(),
              [](const Run& a, const Run& b) { return a.score != b.score ? a.score > b.score : a.column < b.column; });
    const auto last =
        std::unique(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) { return a.column == b.column; });
    runs_.erase(last, runs_.end());
    candidates_.clear();
    std::vector<Run> kept;
    std::unordered_map<std::int32_t, Test> tests;
    std::size_t n_places = 0;
    for (const Run& run : runs_) {
        if (n_places >= request_.k || run.score < limit()) {  // below the limit, some are missing
            break;
        }
        bool has_place = false;
        Test* test = nullptr;
        if (has_readings_ && !all_) {
            const auto [found, is_new] = tests.try_emplace(run.test, Test{run.score, false});
            test = &found->second;
            has_place = test->has_place;
            if (!is_new && run.column != run.test && test->score == run.score) {
                continue;  // the second reading says nothing new
            }
        }
        if (request_.distinct) {
            if (is_known(run, kept, rows)) {
                continue;
            }
            kept.push_back(run);
        }
        const std::size_t n_left = has_place ? run.size : request_.k - n_places;
        const std::size_t n = request_.distinct ? 1 : std::min<std::size_t>(run.size, n_left);
        for (std::size_t i = 0; i < (request_.expand ? n : 1); ++i) {
            const std::size_t n_alike = request_.expand ? 1 : n;
            candidates_.push_back(
                {run.column + static_cast<std::int32_t>(i), run.errors, static_cast<std::int64_t>(n_alike)});
        }
        n_places += has_place ? 0 : n;
        if (test != nullptr) {
            test->has_place = true;
        }
    }
    return n_places >= request_.k || limit() == 0;
}

template <class Count>
void OrderedRanking<Count>::begin(OrderedView<Count>& view, const Request& request, Ticker& ticker) {
    view_ = &view;
    request_ = request;
    const Counts<Count>& counts = view.counts();
    const std::size_t n_columns = view.matrix().n_columns;
    terms_ = scorer_.node_terms(counts);
    ticker.tick(scorer_.work(counts.rows.size()));
    scorer_.all_keys(counts, n_columns, keys_.ensure(n_columns));
    all_ = false;
    draw();
    all_ = request.all;
    find_blocks(request.all ? SIZE_MAX : request.k);
}

// Find the blocks that may have one of the k best scores.
template <class Count>
void OrderedRanking<Count>::find_blocks(std::size_t k) {
    start(k);
    take_bits();
    for (std::size_t g = 0; g < data_.groups.size(); ++g) {
        if (drawn_[g]) {
            bound_blocks(g);
        }
    }
    std::sort(blocks_.begin(), blocks_.end(), [](const OpenBlock& a, const OpenBlock& b) { return a.bound > b.bound; });
}

// Candidates have at least the score of the limit. That is not so if equal splits count as one: then it may fall.
template <class Count>
std::int64_t OrderedRanking<Count>::lowest_errors() {
    if (request_.distinct) {
        return 0;
    }
    std::int64_t lowest = INT64_MAX;
    for (const Run& run : runs_) {
        lowest = run.score >= limit() ? std::min(lowest, run.errors) : lowest;
    }
    for (std::size_t i = n_looked_at_; i < blocks_.size() && blocks_[i].bound >= limit(); ++i) {
        OpenBlock& block = blocks_[i];
        if (block.errors < 0) {
            view_->set_left(block.group, block.block, block.reading, low_);
            view_->set_left(block.group, block.block + 1, block.reading, high_);
            block.errors = view_->fewest_errors(low_, high_);
        }
        lowest = std::min(lowest, block.errors);
    }
    for (const std::size_t j : scored_) {
        if (j >= view_->matrix().n_bits && score_of(keys_[j]) >= limit()) {
            lowest = std::min(lowest, column_errors(j));
        }
    }
    for (std::size_t g = 0; g < data_.groups.size() && has_readings_; ++g) {
        if (drawn_[g] && view_->has_missing(g)) {
            return 0;  // thresholds of the grid have another reading
        }
    }
    return lowest;
}

template <class Count>
bool OrderedRanking<Count>::look_closer(Ticker& ticker) {
    if (n_looked_at_ == blocks_.size() || blocks_[n_looked_at_].bound < limit()) {
        return false;
    }
    OpenBlock& block = blocks_[n_looked_at_++];
    const OrderedRows::Grid& grid = view_->grid(block.group);
    ticker.tick(4 * (grid.end(block.block) - grid.begin(block.block)));
    refine(block);
    return true;
}

template <class Count>
void OrderedRanking<Count>::keep(SplitList& witnesses) const {
    constexpr std::size_t kMostBlocks = 4;
    witnesses.clear();
    for (std::size_t i = 0; i < std::min(request_.k, best_.size()); ++i) {
        if (best_[i] != kNoScoreKey) {
            witnesses.columns.push_back(static_cast<std::size_t>(column_of(best_[i])));
        }
    }
    for (std::size_t i = 0; i < n_looked_at_ && witnesses.blocks.size() < kMostBlocks; ++i) {
        if (blocks_[i].best >= limit()) {
            witnesses.blocks.push_back({blocks_[i].group, blocks_[i].block});
        }
    }
}

template <class Count>
auto OrderedRanking<Count>::finish(const RowSet& rows, Ticker& ticker) -> const std::vector<Candidate>& {
    for (std::size_t k = request_.k;; find_blocks(k)) {
        while (look_closer(ticker)) {
        }
        take_cuts();
        for (std::size_t g = 0; g < data_.groups.size(); ++g) {
            if (drawn_[g]) {
                take_second_readings(g);
            }
        }
        if (select(rows)) {
            return candidates_;
        }
        k *= 2;
    }
}

template class OrderedRanking<std::int32_t>;
template class OrderedRanking<std::int64_t>;

}  // namespace topk
