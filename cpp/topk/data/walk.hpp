// Rows walked down a tree over their columns.
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

// The leaf of every row of data.rows or data.flags, whatever they weigh, into `leaves` (n_rows). Throws
// std::invalid_argument for a tree with columns or children that are not there, or whose children do not come later.
void walk(const Data& data, const ColumnTree& tree, std::int32_t* leaves);

}  // namespace topk
