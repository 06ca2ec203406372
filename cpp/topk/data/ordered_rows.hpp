// The rows of a matrix in the order of every ordered group, and the grid: some of the thresholds, as columns of bits.
//
// A group may have a threshold between any two rows, too many to count them all. The thresholds of the grid are columns
// of the matrix and counted like the others. They divide the entries of a group into blocks of about equal size; the
// thresholds inside a block are looked at only where the counts at its two ends leave a question open (see
// candidates/ordered_ranking.hpp). Every matrix has a grid of its own, which suits its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topk/base/column_map.hpp"
#include "topk/base/memory.hpp"
#include "topk/base/types.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/parallel/stop.hpp"
#include "topk/parallel/tasks.hpp"

namespace topk {

struct OrderedRows {
    static constexpr std::uint32_t kNewRank = std::uint32_t{1} << 31;  // marks an entry that ranks above the one before
    static constexpr std::uint32_t kPosition = kNewRank - 1;
    static constexpr std::uint32_t kGone = kPosition;  // the new position of a row that is left out

    // A group's part of the grid. Its columns are [first_column, first_column + cuts.size()) of the matrix; column i is
    // true for the entries from cuts[i] on, which ends block i. The last cut is in front of the missing values.
    struct Grid {
        std::size_t first_column = 0;
        std::uint32_t n_present = 0;        // entries before the missing values
        std::vector<std::uint32_t> cuts;    // ascending, all but the last at an entry with a new rank; empty: no values
        std::vector<std::uint8_t> has_gap;  // per block: are there different ranks in it?
        bool has_gaps = false;              // in any block
        std::uint32_t begin(std::size_t block) const { return block == 0 ? 0 : cuts[block - 1]; }
        std::uint32_t end(std::size_t block) const { return cuts[block]; }
        std::size_t missing_column() const { return first_column + cuts.size() - 1; }
        NestedColumns nested() const { return {first_column, cuts.size(), has_gap.data()}; }
    };

    // All rows of a word have one class, and a weight of 2^shift without that of the class.
    struct Word {
        std::int32_t class_index;
        int shift;
    };

    std::span<const OrderedGroup> groups;  // the caller's
    std::size_t few_thresholds = 0;        // as in Tuning
    std::size_t n_entries = 0;             // of each group: the rows of the matrix
    AlignedBuffer<std::uint32_t> entries;  // per group: positions in the matrix by ascending rank, missing values last
    AlignedBuffer<std::uint32_t> row_of;   // per position: the caller's row
    std::vector<Grid> grids;               // per group
    std::vector<Word> words;               // per word of the matrix

    bool empty() const { return groups.empty(); }
    std::span<const std::uint32_t> of_group(std::size_t g) const { return {entries.data() + g * n_entries, n_entries}; }
    std::uint32_t rank(std::size_t g, std::uint32_t entry) const { return groups[g].ranks[row_of[entry & kPosition]]; }

    // Return the number of entries of a group that rank at most `threshold`.
    std::uint32_t n_up_to(std::size_t g, std::size_t threshold) const;

    // Sort the rows. `row_at`: the row of every position of the matrix; UINT32_MAX: padding. The caller fills row_of.
    void build(std::span<const OrderedGroup> all_groups, std::span<const std::uint32_t> row_at, Tasks& tasks,
               Ticker& ticker);
    // Take over the rows of another matrix that `moved` gives a position in this one; `n`: their number.
    void take(const OrderedRows& from, std::span<const std::uint32_t> moved, std::size_t n, Ticker& ticker);
    // Choose the grid, whose columns start at `first_column` of the matrix. Returns the end of its columns.
    std::size_t lay_grid(std::size_t first_column);
    // Write the bits of the grid. masks: per word of the matrix, its rows.
    void fill_grid(std::span<const std::uint64_t> masks, std::size_t stride, std::uint64_t* bits, Ticker& ticker) const;
    // The same for one group.
    void fill_grid(std::size_t g, std::span<const std::uint64_t> masks, std::size_t stride, std::uint64_t* bits,
                   Ticker& ticker) const;

  private:
    // `next`: memory to work in.
    void sort_group(std::size_t g, std::span<const std::uint32_t> row_at, AlignedBuffer<std::uint32_t>& next,
                    Ticker& ticker);
};

}  // namespace topk
