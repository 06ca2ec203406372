// Keys of subsets by the splits that lead to them, for data whose rows are too many for keys of their own.
//
// Two paths with the same splits in another order have the same key. That the same rows can also be reached by other
// splits goes unnoticed, except that columns which are equal or opposite on all rows count as one.
#pragma once

#include <cstdint>
#include <vector>

#include "topk/data/bit_matrix.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/parallel/stop.hpp"

namespace topk {

class LiteralKeys {
  public:
    LiteralKeys() = default;
    // Of a matrix whose subset of all rows is `all`.
    LiteralKeys(const BitMatrix& matrix, const Subset& all, std::size_t n_columns, Ticker& ticker);

    bool empty() const { return keys_.empty(); }
    // To be added (XOR) to the key of a subset that is restricted to one side of a column.
    const Key& key(std::size_t column, bool side) const { return keys_[2 * column + (side ? 1 : 0)]; }

  private:
    std::vector<Key> keys_;
};

}  // namespace topk
