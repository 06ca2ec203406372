// Sends rows down a tree over their columns.
#pragma once

#include <cstdint>
#include <span>

#include "topk/base/types.hpp"

namespace topk {

// A tree over stored columns: the root is node 0, leaves have column -1.
struct ColumnTree {
    std::span<const std::int32_t> column;
    std::span<const std::int32_t> false_child;
    std::span<const std::int32_t> true_child;
};

// Write the leaf of every row of data.rows or data.flags, whatever its weight, to `leaves` (n_rows). Throws
// std::invalid_argument for a tree with missing columns or children, or with children that do not come after their
// parent.
void walk(const Data& data, const ColumnTree& tree, std::int32_t* leaves);

}  // namespace topk
