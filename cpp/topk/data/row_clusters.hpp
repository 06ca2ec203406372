// An order of the rows in which those that a search keeps together stand together.
//
// A subset costs time for every 64-row word that it has a row in. If rows stand in the order of the leaves of a greedy
// tree, the splits of that tree, and those like them, leave words full or empty instead of half full. The order of the
// rows has no influence on the result.
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

Clusters find_clusters(const Data& data, const RowSource& source, Arrange arrange, const Kernels& kernels,
                       Ticker& ticker);

}  // namespace topk
