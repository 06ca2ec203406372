// A part of the rows that is counted where it is, for a search that has no rows of its own.
//
// A shard is one array of words, so that it can be stored, sent and read again: blocks of rows, each a header, the
// spans of its rows and the words of a bit matrix. A block stays in the cache while all subsets are counted on it.
// Subsets are asked for as paths of splits; those that begin alike are split once.
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
    std::span<const std::int32_t> depth;    // splits to get there; 0: all rows. At most one more than the entry before
    std::span<const std::int32_t> column;   // of the last split; any number at depth 0
    std::span<const std::uint8_t> side;     // of that column: 1 for true
    std::span<const std::int64_t> answers;  // where its counts go; -1: it is only on the way to others
};

struct ShardShape {
    std::size_t n_columns;
    std::size_t n_classes;
};

// The rows, in blocks of about `block_bytes`. Class weights do not matter.
std::vector<std::uint64_t> make_shard(const Data& data, std::size_t block_bytes, const Kernels& kernels);

// How many counts there are of so many answers. Throws std::invalid_argument if they are more than memory can have.
std::size_t n_counts(ShardShape shape, std::size_t n_answers);

// For every answer, class and column the weight of the rows that have the column: (n_answers, n_classes, n_columns),
// zero on entry. count_rows: their number, whatever they weigh. Throws std::invalid_argument if shard or paths are not
// what they should be.
void count_shard(std::span<const std::uint64_t> shard, ShardShape shape, const Paths& paths, std::size_t n_answers,
                 bool count_rows, const Kernels& kernels, std::int64_t* out);

}  // namespace topk
