// Rows that are equal in all columns: of the same class they can be one row, of different classes some must be wrong.
#pragma once

#include <cstdint>
#include <vector>

#include "topk/base/types.hpp"
#include "topk/data/row_source.hpp"
#include "topk/parallel/stop.hpp"

namespace topk {

struct Duplicates {
    // Per row: how many rows it stands for; 0 if an earlier one stands for it. Empty: every row for itself.
    std::vector<std::uint32_t> stands_for;
    // Per row: any tree gets it wrong, because a heavier class has equal rows. Empty: none, as far as is known.
    std::vector<bool> conflicting;
};

struct DuplicateUses {
    Arrange merge;   // only where no rows have weights of their own
    bool conflicts;  // costs a pass with a hash table
};

// What a sample of the rows says is not there is not looked for: both uses are worth something only if there are many.
// With Arrange::always all that there is is found.
Duplicates find_duplicates(const Data& data, const RowSource& source, DuplicateUses uses, Ticker& ticker);

}  // namespace topk
