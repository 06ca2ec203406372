// A part of the rows, counted where it is stored, for a search on another machine.
//
// A shard is one array of words, so that it can be stored, sent and read again. It consists of blocks of rows, each
// with a header, the spans of its rows and the words of a bit matrix. A block stays in the cache while all subsets are
// counted on it. Subsets are given as paths of splits; paths with a common beginning share its splits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topk/base/types.hpp"
#include "topk/kernels/kernels.hpp"

namespace topk {

// Paths of splits from all rows down, as one tree in preorder.
struct Paths {
    std::span<const std::int32_t> depth;    // number of splits; 0: all rows. At most one more than the entry before
    std::span<const std::int32_t> column;   // of the last split; ignored at depth 0
    std::span<const std::uint8_t> side;     // of that column: 1 for true
    std::span<const std::int64_t> answers;  // where its counts go; -1: nowhere, it only leads to others
};

struct ShardShape {
    std::size_t n_columns;
    std::size_t n_classes;
};

// Make a shard of the rows, in blocks of about `block_bytes`. Class weights are ignored. Throws std::invalid_argument.
std::vector<std::uint64_t> make_shard(const Data& data, std::size_t block_bytes, const Kernels& kernels);

// Return the number of counts in this many answers. Throws std::invalid_argument if they cannot fit into memory.
std::size_t n_counts(ShardShape shape, std::size_t n_answers);

// Add to `out`, for every answer, class and column, the weight of the rows with the column: (n_answers, n_classes,
// n_columns). count_rows: their number instead. Throws std::invalid_argument for an invalid shard or invalid paths.
void count_shard(std::span<const std::uint64_t> shard, ShardShape shape, const Paths& paths, std::size_t n_answers,
                 bool count_rows, const Kernels& kernels, std::int64_t* out);

}  // namespace topk
