// Find groups of equal rows by hashing, in a sample of the hashes first.
#include "topk/data/duplicates.hpp"

#include <algorithm>
#include <bit>

#include "topk/base/fingerprint.hpp"
#include "topk/base/memory.hpp"

namespace topk {
namespace {

// With fewer rows than this there is no sample.
constexpr std::size_t kMinSampled = 4096;
// One hash in 16 is in the sample: either all rows of a group are in it or none.
constexpr std::uint64_t kSampleEvery = 16;
// Merging pays if it leaves at most half of the rows, and this many for each power of two that they stand for: every
// class and power starts new words, which would be half empty in deep nodes otherwise.
constexpr std::size_t kRowsPerPower = 1024;
// With more rows the table would need more memory than the matrix, only to find conflicts.
constexpr std::size_t kMaxBounded = std::size_t{1} << 22;

struct GroupRow {
    std::uint32_t group;  // its first row
    std::int32_t class_index;
    std::uint32_t row;
};

// A hash table of rows: open addressing, at most half full.
class RowTable {
  public:
    RowTable(const RowSource& source, std::size_t n_rows, Ticker& ticker)
        : source_(source), n_slots_(std::bit_ceil(2 * n_rows + 2)), first_(source.words_per_row()) {
        slots_.ensure(n_slots_);
        for_each(n_slots_, 1, ticker, [&](std::size_t i) { slots_[i] = {}; });
    }

    bool full() const { return 2 * n_used_ >= n_slots_; }

    struct Found {
        std::uint32_t group;  // the first row that equals this one
        bool is_new;          // this row is the first
        bool is_second;       // this row is the second
    };

    Found find(std::uint64_t hash, const std::vector<std::uint64_t>& words, std::uint32_t row) {
        const auto tag = static_cast<std::uint32_t>(hash >> 33 << 1);
        for (std::size_t at = hash / kSampleEvery & (n_slots_ - 1);; at = (at + 1) & (n_slots_ - 1)) {
            Slot& slot = slots_[at];
            if (slot.row == kEmpty) {
                slot = {row, tag};
                ++n_used_;
                return {row, true, false};
            }
            if ((slot.tag & ~kHasEquals) == tag) {
                source_.read(slot.row, first_.data());
                if (first_ == words) {
                    const bool is_second = (slot.tag & kHasEquals) == 0;
                    slot.tag |= kHasEquals;
                    return {slot.row, false, is_second};
                }
            }
        }
    }

  private:
    static constexpr std::uint32_t kEmpty = UINT32_MAX;
    static constexpr std::uint32_t kHasEquals = 1;
    struct Slot {
        std::uint32_t row = kEmpty;
        std::uint32_t tag = 0;  // of the hash, and kHasEquals
    };

    const RowSource& source_;
    const std::size_t n_slots_;
    AlignedBuffer<Slot> slots_;
    std::size_t n_used_ = 0;
    std::vector<std::uint64_t> first_;
};

std::uint64_t hash_row(const std::vector<std::uint64_t>& words) {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : words) {
        hash = splitmix64(hash ^ word);
    }
    return hash;
}

struct Groups {
    std::vector<GroupRow> rows;  // the rows that have equal ones, ordered by group, class and row
    std::size_t n_rows = 0;      // rows looked at, with or without equal ones
};

// Copy n rows to `sorted`, by key(row) in [0, n_keys), keeping the order of rows with equal keys.
template <class Key>
void sort_by(const GroupRow* rows, std::size_t n, std::size_t n_keys, Key key, Ticker& ticker, GroupRow* sorted) {
    constexpr std::size_t kWork = 8;
    std::vector<std::uint32_t> next(n_keys + 1, 0);
    for_each(n, kWork, ticker, [&](std::size_t i) { ++next[key(rows[i]) + 1]; });
    for_each(n_keys, 1, ticker, [&](std::size_t k) { next[k + 1] += next[k]; });
    for_each(n, kWork, ticker, [&](std::size_t i) { sorted[next[key(rows[i])]++] = rows[i]; });
}

// Find the rows with hash % every == 0 that have equal ones, each group in the order of its rows.
Groups find_groups(const Data& data, const RowSource& source, std::uint64_t every, Ticker& ticker) {
    Groups groups;
    RowTable table(source, every == 1 ? data.n_rows : data.n_rows / every * 2 + 1024, ticker);
    std::vector<std::uint64_t> words(source.words_per_row());
    for (std::size_t i = 0; i < data.n_rows && !table.full(); ++i) {
        ticker.tick(8 * words.size() + 8);
        source.read(i, words.data());
        const std::uint64_t hash = hash_row(words);
        if (hash % every != 0) {
            continue;
        }
        ++groups.n_rows;
        const auto row = static_cast<std::uint32_t>(i);
        const RowTable::Found found = table.find(hash, words, row);
        if (found.is_second) {
            groups.rows.push_back({found.group, data.classes[found.group], found.group});
        }
        if (!found.is_new) {
            groups.rows.push_back({found.group, data.classes[i], row});
        }
    }
    return groups;
}

// Group the rows with hash % every == 0. The hash table is gone before they are sorted.
Groups group_rows(const Data& data, const RowSource& source, std::uint64_t every, Ticker& ticker) {
    Groups groups = find_groups(data, source, every, ticker);
    const std::size_t n = groups.rows.size();
    AlignedBuffer<GroupRow> by_class;
    sort_by(
        groups.rows.data(), n, static_cast<std::size_t>(data.n_classes),
        [](const GroupRow& row) { return static_cast<std::size_t>(row.class_index); }, ticker, by_class.ensure(n));
    sort_by(
        by_class.data(), n, data.n_rows, [](const GroupRow& row) { return std::size_t{row.group}; }, ticker,
        groups.rows.data());
    return groups;
}

// Call visit(begin, end) for every range of rows that are the same as its first row.
template <class Same, class Visit>
void for_ranges(const std::vector<GroupRow>& rows, std::size_t first, std::size_t last, Ticker& ticker, Same same,
                Visit visit) {
    for (std::size_t begin = first, end = first; begin < last; begin = end) {
        while (end < last && same(rows[begin], rows[end])) {
            ++end;
        }
        ticker.tick(8 * (end - begin));
        visit(begin, end);
    }
}

bool same_group(const GroupRow& a, const GroupRow& b) { return a.group == b.group; }
bool same_class(const GroupRow& a, const GroupRow& b) { return a.group == b.group && a.class_index == b.class_index; }

// Does merging pay? One row in `every` was looked at.
bool worth_merging(const Groups& groups, std::int32_t n_classes, std::uint64_t every, Ticker& ticker) {
    std::size_t left = groups.n_rows;  // a row that stands for n rows is stored once per bit of n
    std::size_t powers = 1;
    for_ranges(groups.rows, 0, groups.rows.size(), ticker, same_class, [&](std::size_t begin, std::size_t end) {
        left -= end - begin - static_cast<std::size_t>(std::popcount(end - begin));
        powers |= end - begin;
    });
    const std::size_t n_spans = static_cast<std::size_t>(n_classes) * static_cast<std::size_t>(std::popcount(powers));
    return 2 * left <= groups.n_rows && left * every >= kRowsPerPower * n_spans;
}

bool any_conflict(const std::vector<GroupRow>& rows, Ticker& ticker) {
    bool found = false;
    for_ranges(rows, 0, rows.size(), ticker, same_group, [&](std::size_t begin, std::size_t end) {
        found |= rows[begin].class_index != rows[end - 1].class_index;
    });
    return found;
}

std::vector<std::uint32_t> merged(std::size_t n_rows, const std::vector<GroupRow>& rows, Ticker& ticker) {
    std::vector<std::uint32_t> stands_for(n_rows, 1);
    for_ranges(rows, 0, rows.size(), ticker, same_class, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            stands_for[rows[i].row] = i == begin ? static_cast<std::uint32_t>(end - begin) : 0;
        }
    });
    return stands_for;
}

// Mark the rows of every group that are not of its heaviest class (of several heaviest classes, the first).
std::vector<bool> conflicting_rows(const Data& data, const std::vector<GroupRow>& rows, Ticker& ticker) {
    std::vector<bool> conflicting(data.n_rows, false);
    for_ranges(rows, 0, rows.size(), ticker, same_group, [&](std::size_t first, std::size_t last) {
        std::int64_t heaviest = -1;
        std::int32_t heaviest_class = -1;
        for_ranges(rows, first, last, ticker, same_class, [&](std::size_t begin, std::size_t end) {
            std::int64_t weight = 0;
            for (std::size_t i = begin; i < end; ++i) {
                weight += data.row_weight.empty() ? 1 : data.row_weight[rows[i].row];
            }
            weight *= data.class_weight[static_cast<std::size_t>(rows[begin].class_index)];
            if (weight > heaviest) {
                heaviest = weight;
                heaviest_class = rows[begin].class_index;
            }
        });
        for (std::size_t i = first; i < last; ++i) {
            conflicting[rows[i].row] = rows[i].class_index != heaviest_class;
        }
    });
    return conflicting;
}

}  // namespace

Duplicates find_duplicates(const Data& data, const RowSource& source, DuplicateUses uses, Ticker& ticker) {
    Duplicates duplicates;
    const bool always = uses.merge == Arrange::always;
    const auto merging_pays = [&](const Groups& groups, std::uint64_t every) {
        return uses.merge == Arrange::if_it_pays && worth_merging(groups, data.n_classes, every, ticker);
    };
    const auto bounding_pays = [&](const Groups& groups) {
        return uses.conflicts && data.n_rows <= kMaxBounded && any_conflict(groups.rows, ticker);
    };
    if (uses.merge == Arrange::never && !uses.conflicts) {
        return duplicates;
    }
    if (data.n_rows >= kMinSampled && !always) {
        const Groups sample = group_rows(data, source, kSampleEvery, ticker);
        if (!merging_pays(sample, kSampleEvery) && !bounding_pays(sample)) {
            return duplicates;
        }
    }
    const Groups groups = group_rows(data, source, 1, ticker);
    if (always || merging_pays(groups, 1)) {
        duplicates.stands_for = merged(data.n_rows, groups.rows, ticker);
    }
    if (bounding_pays(groups)) {
        duplicates.conflicting = conflicting_rows(data, groups.rows, ticker);
    }
    return duplicates;
}

}  // namespace topk
