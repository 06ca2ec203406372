// Sort by counting, divide in the same order, cut into blocks.
#include "topk/data/ordered_rows.hpp"

#include <algorithm>

namespace topk {
namespace {

// Blocks of about this many rows, but no more than kMaxCuts + 1 of them: a finer grid takes longer to count than it
// saves.
constexpr std::size_t kBlockRows = 16;
constexpr std::size_t kMinCuts = 7;
constexpr std::size_t kMaxCuts = 62;
constexpr std::size_t kEntryWork = 4;  // of one step of an entry, in the units of Ticker::tick

}  // namespace

std::uint32_t OrderedRows::n_up_to(std::size_t g, std::size_t threshold) const {
    const auto own = of_group(g).first(grids[g].n_present);
    const auto above =
        std::partition_point(own.begin(), own.end(), [&](std::uint32_t entry) { return rank(g, entry) <= threshold; });
    return static_cast<std::uint32_t>(above - own.begin());
}

void OrderedRows::build(std::span<const OrderedGroup> all_groups, std::span<const std::uint32_t> row_at,
                        Ticker& ticker) {
    groups = all_groups;
    grids.resize(groups.size());
    row_of.ensure(row_at.size());
    std::copy(row_at.begin(), row_at.end(), row_of.data());
    n_entries =
        static_cast<std::size_t>(std::count_if(row_at.begin(), row_at.end(), [](auto r) { return r != UINT32_MAX; }));
    entries.ensure(groups.size() * n_entries + 1)[groups.size() * n_entries] = 0;  // they are hashed in pairs
    std::vector<std::uint32_t> next;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const OrderedGroup& group = groups[g];
        const auto place = [&](std::uint32_t row) {
            return std::min(group.ranks[row], group.n_ranks) + std::size_t{1};
        };
        next.assign(group.n_ranks + std::size_t{2}, 0);
        const auto for_rows = [&](auto visit) {
            for_each(row_at.size(), kEntryWork, ticker, [&](std::size_t position) {
                if (row_at[position] != UINT32_MAX) {
                    visit(position);
                }
            });
        };
        for_rows([&](std::size_t position) { ++next[place(row_at[position])]; });
        for_each(group.n_ranks + std::size_t{1}, 1, ticker, [&](std::size_t i) { next[i + 1] += next[i]; });
        grids[g].n_present = next[group.n_ranks];
        std::uint32_t* own = entries.data() + g * n_entries;
        for_rows([&](std::size_t position) {
            own[next[place(row_at[position]) - 1]++] = static_cast<std::uint32_t>(position);
        });
        // Now next[r] is the end of rank r, where a new one begins.
        for_each(group.n_ranks + std::size_t{1}, 1, ticker, [&](std::size_t i) {
            if (next[i] > 0 && next[i] < n_entries) {
                own[next[i]] |= kNewRank;
            }
        });
    }
}

// Whether a row is kept cannot be predicted, so there is no branch: an entry that is left out is overwritten by the
// next.
void OrderedRows::take(const OrderedRows& from, std::span<const std::uint32_t> moved, std::size_t n, Ticker& ticker) {
    groups = from.groups;
    few_thresholds = from.few_thresholds;
    n_entries = n;
    grids.resize(groups.size());
    std::uint32_t* out = entries.ensure(groups.size() * n + 1);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        ticker.tick(kEntryWork * from.n_entries);
        std::uint32_t* const own = out;
        std::uint32_t is_new = 0;
        const auto take_over = [&](std::span<const std::uint32_t> some) {
            for (const std::uint32_t entry : some) {
                const std::uint32_t to = moved[entry & kPosition];
                const std::uint32_t is_kept = to != kGone ? 1 : 0;
                is_new |= entry & kNewRank;
                *out = to | is_new;
                out += is_kept;
                is_new &= is_kept - 1;
            }
        };
        const std::uint32_t n_before = from.grids[g].n_present;
        take_over(from.of_group(g).first(n_before));
        grids[g].n_present = static_cast<std::uint32_t>(out - own);
        take_over(from.of_group(g).subspan(n_before));
        *own &= kPosition;
    }
}

std::size_t OrderedRows::lay_grid(std::size_t first_column) {
    const std::size_t n_wanted = std::clamp(n_entries / kBlockRows, kMinCuts, kMaxCuts);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const std::span<const std::uint32_t> own = of_group(g);
        Grid& grid = grids[g];
        grid.first_column = first_column;
        grid.cuts.clear();
        const auto next_new = [&](std::size_t i) {
            while (i < grid.n_present && own[i] < kNewRank) {
                ++i;
            }
            return i;
        };
        // A cut is at every new rank if these are few, else at the first one after every n-th part of the rows.
        for (std::size_t i = next_new(1); i < grid.n_present && grid.cuts.size() <= few_thresholds;
             i = next_new(i + 1)) {
            grid.cuts.push_back(static_cast<std::uint32_t>(i));
        }
        grid.has_gaps = grid.cuts.size() > few_thresholds;
        if (grid.has_gaps) {
            grid.cuts.clear();
            const std::size_t n_parts = n_wanted + 1;
            const auto next_cut = [&](std::size_t before) {
                const std::size_t part = before * n_parts / n_entries + 1;
                return next_new((part * n_entries + n_parts - 1) / n_parts);
            };
            for (std::size_t cut = next_cut(0); cut < grid.n_present; cut = next_cut(cut)) {
                grid.cuts.push_back(static_cast<std::uint32_t>(cut));
            }
        }
        if (grid.n_present > 0) {
            grid.cuts.push_back(grid.n_present);
        }
        grid.has_gap.assign(grid.cuts.size(), 0);
        for (std::size_t block = 0; grid.has_gaps && block < grid.cuts.size(); ++block) {
            grid.has_gap[block] = next_new(grid.begin(block) + std::size_t{1}) < grid.end(block) ? 1 : 0;
        }
        first_column += grid.cuts.size();
    }
    return first_column;
}

void OrderedRows::fill_grid(std::span<const std::uint64_t> masks, std::size_t stride, std::uint64_t* bits,
                            Ticker& ticker) const {
    std::vector<std::uint64_t> rest;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const std::uint32_t* next = of_group(g).data();
        const std::uint32_t* const own = next;
        rest.assign(masks.begin(), masks.end());
        std::size_t column = grids[g].first_column;
        for (const std::uint32_t cut : grids[g].cuts) {
            ticker.tick(masks.size() + cut);
            for (; next < own + cut; ++next) {
                const std::uint32_t position = *next & kPosition;
                rest[position / 64] &= ~(std::uint64_t{1} << (position % 64));
            }
            for (std::size_t w = 0; w < rest.size(); ++w) {
                bits[w * stride + column] = rest[w];
            }
            ++column;
        }
    }
}

}  // namespace topk
