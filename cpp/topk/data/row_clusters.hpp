// An order of the rows in which rows that a search keeps together are adjacent.
//
// A subset costs time for every 64-row word that it has a row in. If rows are stored in the order of the leaves of a
// greedy tree, the splits of that tree, and splits similar to them, leave words full or empty instead of half full. The
// result does not depend on the order of the rows.
#pragma once

#include <cstdint>
#include <vector>

#include "topk/base/types.hpp"
#include "topk/data/row_source.hpp"
#include "topk/parallel/stop.hpp"

namespace topk {

struct Clusters {
    std::vector<std::uint8_t> of_row;  // empty: all rows are in cluster 0
    std::size_t n = 1;
};

// Grow the tree on a sample of the rows and send all rows down. With Arrange::if_it_pays, only if there are enough rows
// for their order to matter.
Clusters find_clusters(const Data& data, const RowSource& source, Arrange arrange, const Kernels& kernels,
                       Ticker& ticker);

}  // namespace topk
