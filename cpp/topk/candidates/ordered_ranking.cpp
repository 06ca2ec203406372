// Bounds for blocks, rows of the blocks that are left, runs of columns.
#include "topk/candidates/ordered_ranking.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "topk/candidates/candidates.hpp"
#include "topk/score/feature_draw.hpp"

namespace topk {

template <class Count>
void OrderedRanking<Count>::open(const Node<Count>& node) {
    node_ = &node;
    terms_ = scorer_.node_terms(node.counts);
    const std::size_t n_words = node.matrix->n_words;
    masks_.assign(n_words, 0);
    class_.resize(n_words);
    shift_.resize(n_words);
    std::uint32_t c = 0;
    for (std::size_t s = 0; s < node.subset.spans.size(); ++s) {
        const Span& span = node.subset.spans[s];
        c += s > 0 && span.class_index != node.subset.spans[s - 1].class_index ? 1U : 0U;
        for (std::uint32_t i = span.begin; i < span.end; ++i) {
            const std::uint32_t word = node.subset.words[i];
            masks_[word] = node.subset.masks[i];
            class_[word] = c;
            shift_[word] = span.shift;
        }
    }
    drawn_.assign(data_.groups.size(), true);
}

// A feature that cannot split the node is passed over. Whether a group can follows from its grid, or from all rows of
// its blocks if no threshold of the grid can.
template <class Count>
void OrderedRanking<Count>::draw(ScoreKey* keys) {
    const FeatureDraw& draw = objective_.draw;
    if (draw.n_features == 0) {
        return;
    }
    const std::size_t n_bits = node_->matrix->n_bits;
    std::vector<std::uint8_t> splits(draw.n_all, 0);
    for (std::size_t j = 0; j < n_bits; ++j) {
        splits[static_cast<std::size_t>(draw.of_column[j])] |= keys[j] != kNoScoreKey ? 1 : 0;
    }
    for (std::size_t g = 0; g < data_.groups.size(); ++g) {
        std::uint8_t& flag = splits[static_cast<std::size_t>(data_.groups[g].feature)];
        flag = flag != 0 || can_split(g, keys) ? 1 : 0;
    }
    const std::uint64_t hash = draw_hash(draw.seed, node_->counts.class_index, node_->counts.totals);
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
        keys[j] = is_drawn(draw.of_column[j]) ? keys[j] : kNoScoreKey;
    }
    for (std::size_t g = 0; g < data_.groups.size(); ++g) {
        drawn_[g] = is_drawn(data_.groups[g].feature);
    }
}

template <class Count>
bool OrderedRanking<Count>::can_split(std::size_t g, const ScoreKey* keys) {
    runs_.clear();
    blocks_.clear();
    scores_.clear();
    k_ = SIZE_MAX;
    limit_ = 0;
    all_ = false;
    bound_blocks(g);
    for (const OpenBlock& block : blocks_) {
        refine(block);
    }
    take_cuts(g, keys);
    return !runs_.empty();
}

// The limit starts as the k-th score of the columns that are scored anyway, of one reading per test.
template <class Count>
void OrderedRanking<Count>::start(const ScoreKey* keys, std::size_t k) {
    runs_.clear();
    blocks_.clear();
    scores_.clear();
    k_ = k;
    limit_ = 0;
    const std::span<const std::int32_t> second = objective_.second_reading;
    std::vector<std::int32_t> first_of(second.empty() ? 0 : node_->matrix->n_bits, -1);
    for (std::size_t j = 0; j < second.size(); ++j) {
        if (second[j] > 0) {
            first_of[j + static_cast<std::size_t>(second[j])] = static_cast<std::int32_t>(j);
        }
    }
    for (std::size_t j = 0; j < node_->matrix->n_bits; ++j) {
        const bool is_second = !first_of.empty() && first_of[j] >= 0;
        const auto first = is_second ? static_cast<std::size_t>(first_of[j]) : j;
        const std::int64_t score = score_of(keys[j]);
        if (keys[j] != kNoScoreKey && (all_ || !is_second || score != score_of(keys[first]))) {
            runs_.push_back({score, columns_.of_bits(j), columns_.of_bits(first), 1});
            raise_limit(score, is_second ? 0 : 1);
        }
    }
    for (std::size_t g = 0; g < data_.groups.size(); ++g) {
        const OrderedRows::Grid& grid = node_->matrix->ordered.grids[g];
        for (std::size_t i = 0; i < grid.cuts.size() && drawn_[g]; ++i) {
            if (const ScoreKey key = keys[grid.first_column + i]; key != kNoScoreKey) {
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

// Is there a reason to tell the two readings of the group's tests apart?
template <class Count>
bool OrderedRanking<Count>::reads_twice(std::size_t g) const {
    if (!data_.groups[g].has_missing || all_) {
        return data_.groups[g].has_missing;
    }
    const OrderedRows& ordered = node_->matrix->ordered;
    const OrderedRows::Grid& grid = ordered.grids[g];
    if (grid.n_present == 0 || grid.n_present == ordered.n_entries) {
        return false;
    }
    const std::size_t column = grid.first_column + grid.cuts.size() - 1;
    return std::any_of(node_->counts.rows.begin(), node_->counts.rows.end(),
                       [&](const Count* row) { return row[column] > 0; });
}

// Set `left` to the weights before the n-th boundary of a group's blocks; 0 is the beginning.
template <class Count>
void OrderedRanking<Count>::set_left(std::size_t g, std::size_t n, Reading reading, Left& left) const {
    const Counts<Count>& counts = node_->counts;
    const OrderedRows::Grid& grid = node_->matrix->ordered.grids[g];
    const bool has_missing = grid.n_present > 0 && grid.n_present < node_->matrix->ordered.n_entries;
    const std::size_t missing = grid.first_column + grid.cuts.size() - 1;  // a column, if has_missing
    const bool add_missing = reading == Reading::second && has_missing;
    const bool is_end = n == grid.cuts.size() + 1;
    left.weights.resize(counts.totals.size());
    left.total = 0;
    for (std::size_t c = 0; c < counts.totals.size(); ++c) {
        const std::int64_t n_missing = has_missing ? counts.rows[c][missing] : 0;
        const std::int64_t n_true = is_end ? n_missing : n == 0 ? 0 : counts.rows[c][grid.first_column + n - 1];
        left.weights[c] = (n == 0 ? 0 : counts.totals[c] - n_true) + (add_missing ? n_missing : 0);
        left.total += left.weights[c];
    }
    if (limits_.track_rows) {
        const std::int64_t n_missing = has_missing ? counts.n_true[missing] : 0;
        const std::int64_t n_true = is_end ? n_missing : n == 0 ? 0 : counts.n_true[grid.first_column + n - 1];
        left.n_rows = (n == 0 ? 0 : counts.n_rows - n_true) + (add_missing ? n_missing : 0);
    }
}

template <class Count>
bool OrderedRanking<Count>::is_admissible(const Left& left) const {
    return std::min(left.total, terms_.total - left.total) >= limits_.min_weight &&
           (!limits_.track_rows || std::min(left.n_rows, node_->counts.n_rows - left.n_rows) >= limits_.min_rows);
}

template <class Count>
void OrderedRanking<Count>::add_row(std::uint32_t entry, Left& left) const {
    const BitMatrix& matrix = *node_->matrix;
    const std::uint32_t position = entry & OrderedRows::kPosition;
    const std::uint32_t word = position / 64;
    const auto is_set = [&](std::uint64_t bits) { return (bits >> (position % 64) & 1) != 0; };
    const std::uint32_t c = class_[word];
    std::int64_t weight = std::int64_t{1} << shift_[word];
    if (matrix.n_planes > 0) {
        weight = 0;
        for (std::size_t p = 0; p < matrix.n_planes; ++p) {
            weight += is_set(matrix.planes[p * matrix.n_words + word]) ? std::int64_t{1} << p : 0;
        }
    }
    weight *= data_.class_weight[static_cast<std::size_t>(node_->counts.class_index[c])];
    left.weights[c] += weight;
    left.total += weight;
    left.n_rows += !matrix.has_primary || is_set(matrix.primary[word]) ? 1 : 0;
}

template <class Count>
void OrderedRanking<Count>::bound_blocks(std::size_t g) {
    const OrderedRows::Grid& grid = node_->matrix->ordered.grids[g];
    for (const Reading reading : {Reading::first, Reading::second}) {
        if (reading == Reading::second && !reads_twice(g)) {
            continue;
        }
        set_left(g, 0, reading, low_);
        for (std::size_t block = 0; block <= grid.cuts.size(); ++block) {
            set_left(g, block + 1, reading, high_);
            if (grid.has_gap[block] != 0 && high_.total - low_.total >= 2) {
                const std::int64_t bound = scorer_.score_bound(terms_, low_.weights.data(), high_.weights.data());
                if (bound >= limit_) {
                    blocks_.push_back({bound, g, block, reading});
                }
            }
            std::swap(low_, high_);
        }
    }
}

// Find the runs between two rows of a block.
template <class Count>
void OrderedRanking<Count>::refine(const OpenBlock& block) {
    const OrderedRows& ordered = node_->matrix->ordered;
    const OrderedRows::Grid& grid = ordered.grids[block.group];
    const std::uint32_t begin = grid.begin(block.block);
    set_left(block.group, block.block, block.reading, low_);
    bool is_new = false;
    std::uint32_t before = UINT32_MAX;
    for (const std::uint32_t entry : ordered.of_group(block.group).subspan(begin, grid.end(block.block) - begin)) {
        is_new |= entry >= OrderedRows::kNewRank;
        if (!has_row(entry)) {
            continue;
        }
        if (is_new && before != UINT32_MAX && is_admissible(low_)) {
            const std::int64_t score = scorer_.split_score(terms_, low_.weights.data());
            if (score >= limit_) {
                const std::uint32_t first = ordered.rank(block.group, before);
                const std::uint32_t last = ordered.rank(block.group, entry);
                add_run(score, block.group, first, last, block.reading);
                raise_limit(score, block.reading == Reading::first ? last - first : 0);
            }
        }
        add_row(entry, low_);
        before = entry;
        is_new = false;
    }
}

// Add the run of the thresholds [first, last) of a group.
template <class Count>
void OrderedRanking<Count>::add_run(std::int64_t score, std::size_t g, std::size_t first, std::size_t last,
                                    Reading reading) {
    if (first < last) {
        runs_.push_back({score, columns_.of_threshold(g, first, reading),
                         columns_.of_threshold(g, first, Reading::first), static_cast<std::uint32_t>(last - first)});
    }
}

// Find the runs that have a threshold of the grid among them.
template <class Count>
void OrderedRanking<Count>::take_cuts(std::size_t g, const ScoreKey* keys) {
    const OrderedRows& ordered = node_->matrix->ordered;
    const OrderedRows::Grid& grid = ordered.grids[g];
    const std::span<const std::uint32_t> own = ordered.of_group(g);
    const std::size_t n_thresholds = data_.groups[g].n_thresholds();
    // The ranks of the rows next to an entry; where there is none, all thresholds on that side belong to the run.
    const auto rank_before = [&](std::uint32_t i) -> std::size_t {
        while (i > 0 && !has_row(own[i - 1])) {
            --i;
        }
        return i == 0 ? 0 : ordered.rank(g, own[i - 1]);
    };
    const auto rank_after = [&](std::uint32_t i) -> std::size_t {
        while (i < grid.n_present && !has_row(own[i])) {
            ++i;
        }
        return i == grid.n_present ? n_thresholds : ordered.rank(g, own[i]);
    };
    for (const Reading reading : {Reading::first, Reading::second}) {
        if (reading == Reading::second && !reads_twice(g)) {
            continue;
        }
        for (std::size_t i = 0; i < grid.cuts.size(); ++i) {
            const bool is_missing = grid.cuts[i] == grid.n_present;
            std::int64_t score = score_of(keys[grid.first_column + i]);  // negative if it cannot split the node
            if (reading == Reading::second) {
                set_left(g, i + 1, reading, low_);
                const bool is_usable = !is_missing && is_admissible(low_);
                score = is_usable ? scorer_.split_score(terms_, low_.weights.data()) : -1;
            }
            if (score < limit_) {
                continue;
            }
            add_run(score, g, rank_before(grid.cuts[i]), rank_after(grid.cuts[i]), reading);
            if (is_missing) {  // two more tests divide the node in this way: thresholds below all rows, and "is missing"
                add_run(score, g, 0, rank_after(0), Reading::second);
                const std::int32_t column = columns_.of_threshold(g, 0, Reading::is_missing);
                runs_.push_back({score, column, column, 1});
            }
        }
    }
}

// Does a run that is kept divide the node's rows in the same way?
template <class Count>
bool OrderedRanking<Count>::is_known(const Run& run, std::span<const Run> kept) {
    const std::size_t n = kept.size();
    if (bits_.size() <= n) {
        bits_.resize(n + 1);
    }
    kept_bits_.resize(n);
    kept_bits_.push_back(bits_of(*node_->matrix, columns_.place(run.column), bits_[n]));
    const RowSet rows = {*node_->matrix, node_->subset};
    for (std::size_t i = n; i-- > 0 && kept[i].score == run.score;) {
        if (split_alike(rows, kept_bits_[i], kept_bits_[n])) {
            return true;
        }
    }
    return false;
}

// Returns false if a lower limit is needed to find k candidates.
template <class Count>
bool OrderedRanking<Count>::select(const Request& request, std::vector<std::int32_t>& out) {
    std::sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) {
        return a.score != b.score ? a.score > b.score : a.column < b.column;
    });
    const auto last =
        std::unique(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) { return a.column == b.column; });
    runs_.erase(last, runs_.end());
    out.clear();
    std::vector<Run> kept;
    std::unordered_map<std::int32_t, std::int64_t> placed;  // tests with a reading that is kept, and its score
    std::size_t n_places = 0;
    for (const Run& run : runs_) {
        if (n_places >= request.k) {
            break;
        }
        const auto found = placed.find(run.test);
        const bool is_placed = found != placed.end();
        if (is_placed && run.column != run.test && found->second == run.score) {
            continue;  // the second reading says nothing new
        }
        if (request.distinct && is_known(run, kept)) {
            continue;
        }
        if (request.distinct) {
            kept.push_back(run);
        }
        if (has_readings_ && !all_) {
            placed.emplace(run.test, run.score);
        }
        const std::size_t n_left = is_placed ? run.size : request.k - n_places;
        const std::size_t n = request.distinct ? 1 : std::min<std::size_t>(run.size, n_left);
        for (std::size_t i = 0; i < (request.expand ? n : 1); ++i) {
            out.push_back(run.column + static_cast<std::int32_t>(i));
        }
        n_places += is_placed ? 0 : n;
    }
    return n_places >= request.k || limit_ == 0;
}

template <class Count>
void OrderedRanking<Count>::rank(const Node<Count>& node, ScoreKey* keys, const Request& request, Ticker& ticker,
                                 std::vector<std::int32_t>& out) {
    open(node);
    all_ = false;
    draw(keys);
    all_ = request.all;
    for (std::size_t k = request.all ? SIZE_MAX : request.k;; k *= 2) {
        start(keys, k);
        for (std::size_t g = 0; g < data_.groups.size(); ++g) {
            if (drawn_[g]) {
                bound_blocks(g);
            }
        }
        std::sort(blocks_.begin(), blocks_.end(),
                  [](const OpenBlock& a, const OpenBlock& b) { return a.bound > b.bound; });
        for (const OpenBlock& block : blocks_) {
            if (block.bound < limit_) {
                break;
            }
            const OrderedRows::Grid& grid = node.matrix->ordered.grids[block.group];
            ticker.tick(4 * (grid.end(block.block) - grid.begin(block.block)));
            refine(block);
        }
        for (std::size_t g = 0; g < data_.groups.size(); ++g) {
            if (drawn_[g]) {
                take_cuts(g, keys);
            }
        }
        if (select(request, out)) {
            return;
        }
    }
}

template class OrderedRanking<std::int32_t>;
template class OrderedRanking<std::int64_t>;

}  // namespace topk
