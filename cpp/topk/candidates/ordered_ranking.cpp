// Bounds for blocks, rows of the blocks that are left, runs of columns.
#include "topk/candidates/ordered_ranking.hpp"

#include <algorithm>
#include <functional>
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
    }
}

template <class Count>
bool OrderedRanking<Count>::can_split(std::size_t g) {
    start(SIZE_MAX);
    bound_blocks(g);
    for (const OpenBlock& block : blocks_) {
        refine(block);
    }
    take_cuts(g);
    return !runs_.empty();
}

template <class Count>
void OrderedRanking<Count>::start(std::size_t k) {
    runs_.clear();
    blocks_.clear();
    scores_.clear();
    k_ = k;
    limit_ = 0;
}

// The limit starts as the k-th score of the columns that are scored anyway, of one reading per test.
template <class Count>
void OrderedRanking<Count>::take_bits() {
    const std::size_t n_bits = view_->matrix().n_bits;
    const std::span<const std::int32_t> second = objective_.second_reading;
    std::vector<std::int32_t> first_of(second.empty() ? 0 : n_bits, -1);
    for (std::size_t j = 0; j < second.size(); ++j) {
        if (second[j] > 0) {
            first_of[j + static_cast<std::size_t>(second[j])] = static_cast<std::int32_t>(j);
        }
    }
    for (std::size_t j = 0; j < n_bits; ++j) {
        const bool is_second = !first_of.empty() && first_of[j] >= 0;
        const auto first = is_second ? static_cast<std::size_t>(first_of[j]) : j;
        const std::int64_t score = score_of(keys_[j]);
        if (keys_[j] != kNoScoreKey && (all_ || !is_second || score != score_of(keys_[first]))) {
            runs_.push_back({score, column_errors(j), columns_.of_bits(j), columns_.of_bits(first), 1});
            raise_limit(score, is_second ? 0 : 1);
        }
    }
    for (std::size_t g = 0; g < data_.groups.size(); ++g) {
        const OrderedRows::Grid& grid = view_->grid(g);
        for (std::size_t i = 0; i < grid.cuts.size() && drawn_[g]; ++i) {
            if (const ScoreKey key = keys_[grid.first_column + i]; key != kNoScoreKey) {
                raise_limit(score_of(key), 1);
            }
        }
    }
    set_limit();
}

// There are n more tests with this score.
template <class Count>
void OrderedRanking<Count>::raise_limit(std::int64_t score, std::size_t n) {
    if (k_ == SIZE_MAX || score < limit_) {
        return;
    }
    scores_.insert(scores_.end(), std::min(n, k_), score);
    if (scores_.size() >= 2 * k_) {
        set_limit();
    }
}

template <class Count>
void OrderedRanking<Count>::set_limit() {
    if (scores_.size() >= k_) {
        const auto last = scores_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
        std::nth_element(scores_.begin(), last, scores_.end(), std::greater<>());
        limit_ = *last;
        scores_.resize(k_);
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
    const std::size_t n_cuts = grid.cuts.size();
    for (std::size_t block = 0; block <= n_cuts; ++block) {
        const bool has_neighbours = has_bounds_ && block > 0 && block < n_cuts;
        if (!has_neighbours || bounds_[grid.first_column + block] >= limit_) {
            bound_block(g, block, Reading::first);
        }
    }
    if (all_ ? data_.groups[g].has_missing : view_->has_missing(g)) {
        for (std::size_t block = 0; block <= n_cuts; ++block) {
            bound_block(g, block, Reading::second);
        }
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
        if (bound >= limit_) {
            blocks_.push_back({bound, g, block, reading});
        }
    }
}

// Find the runs between two rows of a block.
template <class Count>
void OrderedRanking<Count>::refine(const OpenBlock& block) {
    const OrderedRows& ordered = view_->matrix().ordered;
    view_->set_left(block.group, block.block, block.reading, low_);
    view_->walk(block.group, block.block, low_, [&](std::uint32_t before, std::uint32_t after) {
        if (!view_->is_admissible(low_)) {
            return;
        }
        const std::int64_t score = scorer_.split_score(terms_, low_.weights.data());
        if (score >= limit_) {
            const std::uint32_t first = ordered.rank(block.group, before);
            const std::uint32_t last = ordered.rank(block.group, after);
            add_run({score, view_->errors(low_), 0, 0, 0}, block.group, first, last, block.reading);
            raise_limit(score, block.reading == Reading::first ? last - first : 0);
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
void OrderedRanking<Count>::take_cuts(std::size_t g) {
    const OrderedRows& ordered = view_->matrix().ordered;
    const OrderedRows::Grid& grid = view_->grid(g);
    const std::span<const std::uint32_t> own = ordered.of_group(g);
    const std::size_t n_thresholds = data_.groups[g].n_thresholds();
    // The ranks of the rows next to an entry; where there is none, all thresholds on that side belong to the run.
    const auto rank_before = [&](std::uint32_t i) -> std::size_t {
        while (i > 0 && !view_->has_row(own[i - 1])) {
            --i;
        }
        return i == 0 ? 0 : ordered.rank(g, own[i - 1]);
    };
    const auto rank_after = [&](std::uint32_t i) -> std::size_t {
        while (i < grid.n_present && !view_->has_row(own[i])) {
            ++i;
        }
        return i == grid.n_present ? n_thresholds : ordered.rank(g, own[i]);
    };
    for (const Reading reading : {Reading::first, Reading::second}) {
        if (reading == Reading::second && !(all_ ? data_.groups[g].has_missing : view_->has_missing(g))) {
            continue;
        }
        for (std::size_t i = 0; i < grid.cuts.size(); ++i) {
            const bool is_missing = grid.cuts[i] == grid.n_present;
            const std::size_t column = grid.first_column + i;
            Run run = {score_of(keys_[column]), 0, 0, 0, 0};  // its score is negative if it cannot split the subset
            if (reading == Reading::second) {
                view_->set_left(g, i + 1, reading, low_);
                const bool is_usable = !is_missing && view_->is_admissible(low_);
                run.score = is_usable ? scorer_.split_score(terms_, low_.weights.data()) : -1;
            }
            if (run.score < limit_) {
                continue;
            }
            run.errors = reading == Reading::second ? view_->errors(low_) : column_errors(column);
            add_run(run, g, rank_before(grid.cuts[i]), rank_after(grid.cuts[i]), reading);
            if (is_missing) {  // two more tests divide the rows in this way: thresholds below all rows, and "is
                               // missing"
                add_run(run, g, 0, rank_after(0), Reading::second);
                const std::int32_t is_missing_column = columns_.of_threshold(g, 0, Reading::is_missing);
                runs_.push_back({run.score, run.errors, is_missing_column, is_missing_column, 1});
            }
        }
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
        if (n_places >= request_.k || run.score < limit_) {  // below the limit, some are missing
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
            candidates_.push_back({run.column + static_cast<std::int32_t>(i), run.errors});
        }
        n_places += has_place ? 0 : n;
        if (test != nullptr) {
            test->has_place = true;
        }
    }
    return n_places >= request_.k || limit_ == 0;
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
    has_bounds_ = scorer_.block_bounds(counts, n_columns, bounds_.ensure(n_columns));
    all_ = false;
    draw();
    all_ = request.all;
    find_blocks(request.all ? SIZE_MAX : request.k);
}

// Find the blocks that may have one of the k best scores, and the limit that the thresholds of the grid set.
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
        lowest = run.score >= limit_ ? std::min(lowest, run.errors) : lowest;
    }
    for (const OpenBlock& block : blocks_) {
        view_->set_left(block.group, block.block, block.reading, low_);
        view_->set_left(block.group, block.block + 1, block.reading, high_);
        lowest = std::min(lowest, view_->fewest_errors(low_, high_));
    }
    for (std::size_t g = 0; g < data_.groups.size(); ++g) {
        const OrderedRows::Grid& grid = view_->grid(g);
        for (std::size_t i = 0; i < grid.cuts.size() && drawn_[g]; ++i) {
            if (score_of(keys_[grid.first_column + i]) >= limit_ && keys_[grid.first_column + i] != kNoScoreKey) {
                lowest = std::min(lowest, column_errors(grid.first_column + i));
            }
        }
        if (drawn_[g] && view_->has_missing(g)) {
            return 0;  // thresholds of the grid have another reading
        }
    }
    return lowest;
}

template <class Count>
auto OrderedRanking<Count>::finish(const RowSet& rows, Ticker& ticker) -> const std::vector<Candidate>& {
    for (std::size_t k = request_.k;; find_blocks(k)) {
        for (const OpenBlock& block : blocks_) {
            if (block.bound < limit_) {
                break;
            }
            const OrderedRows::Grid& grid = view_->grid(block.group);
            ticker.tick(4 * (grid.end(block.block) - grid.begin(block.block)));
            refine(block);
        }
        for (std::size_t g = 0; g < data_.groups.size(); ++g) {
            if (drawn_[g]) {
                take_cuts(g);
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
