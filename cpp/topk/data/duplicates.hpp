// Rows that are equal in all columns. In the same class they can be one row; of different classes, all but the heaviest
// are conflicts: every tree misclassifies them.
#pragma once

#include <cstdint>
#include <vector>

#include "topk/base/types.hpp"
#include "topk/data/row_source.hpp"
#include "topk/parallel/stop.hpp"

namespace topk {

struct Duplicates {
    // Per row: how many rows it stands for; 0 if an earlier row stands for it. Empty: every row stands for itself.
    std::vector<std::uint32_t> stands_for;
    // Per row: is it a conflict? Empty: none is known.
    std::vector<bool> conflicting;
};

struct DuplicateUses {
    Arrange merge;   // must be `never` if rows have weights
    bool conflicts;  // takes a pass with a hash table
};

// Both uses pay only if there are many duplicates, so a sample of the rows decides whether to look for them. With
// Arrange::always all of them are found.
Duplicates find_duplicates(const Data& data, const RowSource& source, DuplicateUses uses, Ticker& ticker);

}  // namespace topk
