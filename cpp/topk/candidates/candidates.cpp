// Select keys, and tell columns apart by how they divide the rows.
#include "topk/candidates/candidates.hpp"

#include <algorithm>
#include <functional>

namespace topk {
namespace {

// Put all keys from `lowest` on into `out`.
void keys_from(const ScoreKey* keys, std::size_t n_columns, ScoreKey lowest, std::vector<ScoreKey>& out) {
    out.resize(n_columns);
    std::size_t n = 0;
    for (std::size_t j = 0; j < n_columns; ++j) {
        out[n] = keys[j];
        n += keys[j] >= lowest ? 1U : 0U;
    }
    out.resize(n);
}

const Kernels& kernels_of(const Places& places) {
    return places.kernels == nullptr ? *available_kernels().front() : *places.kernels;
}

// Put keys into `out`, all candidates among the k best included.
void select_likely(const ScoreKey* keys, std::size_t n_columns, const Places& places, std::vector<ScoreKey>& out) {
    out.resize(n_columns);
    out.resize(kernels_of(places).likely_keys(keys, n_columns, places.k, out.data()));
}

// Move the best keys from `begin` on to [begin, end) and sort them. Keys before `begin` are better than all others.
void sort_part(std::vector<std::int64_t>& keys, std::size_t begin, std::size_t end) {
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = keys.begin() + static_cast<std::ptrdiff_t>(end);
    if (last != keys.end()) {
        std::nth_element(first, last, keys.end(), std::greater<>());
    }
    std::sort(first, last, std::greater<>());
}

// A necessary condition for dividing the rows alike.
template <class Count>
bool count_alike(const Counts<Count>& counts, std::size_t a, std::size_t b) {
    bool equal = true;
    bool mirrored = true;
    for (std::size_t c = 0; c < counts.rows.size() && (equal || mirrored); ++c) {
        equal &= counts.rows[c][a] == counts.rows[c][b];
        mirrored &= counts.rows[c][a] == counts.totals[c] - counts.rows[c][b];
    }
    return equal || mirrored;
}

}  // namespace

bool split_alike(const RowSet& rows, ColumnBits a, ColumnBits b) {
    bool equal = true;
    bool mirrored = true;
    for (std::size_t i = 0; i < rows.subset.words.size() && (equal || mirrored); ++i) {
        const std::uint32_t word = rows.subset.words[i];
        std::uint64_t mask = rows.subset.masks[i];
        if (rows.column.data != nullptr) {
            mask &= rows.side ? rows.column.word(word) : ~rows.column.word(word);
        }
        const std::uint64_t different = (a.word(word) ^ b.word(word)) & mask;
        equal &= different == 0;
        mirrored &= different == mask;
    }
    return equal || mirrored;
}

// The test in the last place is the k-th of all tests, each by its better reading.
ScoreKey lowest_candidate(const ScoreKey* keys, std::size_t n_columns, Places places, std::vector<ScoreKey>& buffer) {
    if (!places.copies.empty()) {
        best_keys(keys, n_columns, places, buffer);
        return buffer.empty() ? 0 : buffer.back();
    }
    if (places.second_reading.empty()) {
        select_likely(keys, n_columns, places, buffer);
        if (buffer.size() < places.k) {
            return 0;
        }
        const auto last = buffer.begin() + static_cast<std::ptrdiff_t>(places.k - 1);
        std::nth_element(buffer.begin(), last, buffer.end(), std::greater<>());
        return *last;
    }
    buffer.assign(keys, keys + n_columns);
    for (std::size_t j = 0; j < places.second_reading.size(); ++j) {
        ScoreKey& second = buffer[j + static_cast<std::size_t>(places.second_reading[j])];
        if (places.second_reading[j] > 0) {
            (buffer[j] > second ? second : buffer[j]) = kNoScoreKey;
        }
    }
    const auto last = buffer.begin() + static_cast<std::ptrdiff_t>(std::min(places.k, n_columns) - 1);
    std::nth_element(buffer.begin(), last, buffer.end(), std::greater<>());
    return std::max<ScoreKey>(*last, 0);
}

void best_keys(const ScoreKey* keys, std::size_t n_columns, Places places, std::vector<ScoreKey>& best) {
    if (places.second_reading.empty()) {
        select_likely(keys, n_columns, places, best);
        const std::size_t n = std::min(places.k, best.size());
        if (best.size() <= kMostSorted) {
            kernels_of(places).sort_keys(best.data(), best.size());
        } else {
            sort_part(best, 0, n);
        }
        best.resize(n);
        std::size_t n_places = 0;
        for (std::size_t i = 0; i < best.size() && !places.copies.empty(); ++i) {
            if (n_places >= places.k) {
                best.resize(i);
            } else {
                n_places += static_cast<std::size_t>(places.copies[static_cast<std::size_t>(column_of(best[i]))]);
            }
        }
        return;
    }
    const ScoreKey lowest = lowest_candidate(keys, n_columns, places, best);
    best.clear();
    keys_from(keys, n_columns, lowest, best);
    std::sort(best.begin(), best.end(), std::greater<>());
}

template <class Count>
void best_distinct_keys(const ScoreKey* keys, std::size_t n_columns, Places places, const Counts<Count>& counts,
                        const RowSet& rows, bool equal_scores, std::vector<ScoreKey>& best) {
    keys_from(keys, n_columns, 0, best);
    std::size_t n_kept = 0;
    std::size_t n_places = 0;
    const auto shares_a_place = [&](ScoreKey key) {
        const std::int32_t column = column_of(key);
        const auto is_other_reading = [&](ScoreKey kept) {
            const std::int32_t first = std::min(column, column_of(kept));
            const std::int32_t offset = places.second_reading[static_cast<std::size_t>(first)];
            return offset > 0 && first + offset == std::max(column, column_of(kept));
        };
        return !places.second_reading.empty() &&
               std::any_of(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(n_kept), is_other_reading);
    };
    const auto is_known = [&](ScoreKey key) {
        const auto column = static_cast<std::size_t>(column_of(key));
        for (std::size_t i = n_kept; i-- > 0;) {
            if (equal_scores && score_of(best[i]) != score_of(key)) {
                return false;
            }
            const auto other = static_cast<std::size_t>(column_of(best[i]));
            if (count_alike(counts, column, other) &&
                split_alike(rows, rows.matrix.column(column), rows.matrix.column(other))) {
                return true;
            }
        }
        return false;
    };
    std::size_t n_sorted = 0;
    for (std::size_t next = 0; next < best.size() && n_places < places.k; ++next) {
        if (next == n_sorted) {
            const std::size_t step = std::max<std::size_t>(places.k - n_places, 8);
            n_sorted += std::min(step, best.size() - n_sorted);
            sort_part(best, next, n_sorted);
        }
        if (const ScoreKey key = best[next]; !is_known(key)) {
            n_places += shares_a_place(key) ? 0U : 1U;
            best[n_kept++] = key;  // n_kept <= next: overwrites only keys that were visited
        }
    }
    best.resize(n_kept);
}

template <class Count>
void list_distinct(const Counts<Count>& counts, const RowSet& rows, std::vector<std::size_t>& list,
                   std::vector<std::int64_t>& copies) {
    list.clear();
    copies.clear();
    for (std::size_t j = 0; j < rows.matrix.n_bits; ++j) {
        bool is_false = true;
        bool is_true = true;
        for (std::size_t c = 0; c < counts.rows.size(); ++c) {
            is_false &= counts.rows[c][j] == 0;
            is_true &= counts.rows[c][j] == counts.totals[c];
        }
        if (is_false || is_true) {
            continue;
        }
        const std::int64_t n = rows.matrix.copies.empty() ? 1 : rows.matrix.copies[j];
        if (!list.empty() && count_alike(counts, list.back(), j) &&
            split_alike(rows, rows.matrix.column(list.back()), rows.matrix.column(j))) {
            copies.back() += n;
        } else {
            list.push_back(j);
            copies.push_back(n);
        }
    }
}

template void list_distinct(const Counts<std::int32_t>&, const RowSet&, std::vector<std::size_t>&,
                            std::vector<std::int64_t>&);
template void list_distinct(const Counts<std::int64_t>&, const RowSet&, std::vector<std::size_t>&,
                            std::vector<std::int64_t>&);

template void best_distinct_keys(const std::int64_t*, std::size_t, Places, const Counts<std::int32_t>&, const RowSet&,
                                 bool, std::vector<std::int64_t>&);
template void best_distinct_keys(const std::int64_t*, std::size_t, Places, const Counts<std::int64_t>&, const RowSet&,
                                 bool, std::vector<std::int64_t>&);

}  // namespace topk
