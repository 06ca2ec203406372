// Fingerprints of subsets from the splits that lead to them, for data with too many rows for a fingerprint per row.
//
// A literal is one side of one column. A subset's fingerprint is the XOR over the literals on its path, so that paths
// with the same splits in another order agree. Equal rows reached by other splits go unnoticed (the cache then misses,
// which costs time only), except that columns which are equal or complementary on all rows share their fingerprints.
#pragma once

#include <cstdint>
#include <vector>

#include "topk/base/fingerprint.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/parallel/stop.hpp"

namespace topk {

class LiteralFingerprints {
  public:
    LiteralFingerprints() = default;
    // `all`: the subset of all rows of the matrix. `salt`: what hash_matrix() returns for them.
    LiteralFingerprints(const BitMatrix& matrix, const Subset& all, std::size_t n_columns, const Fingerprint& salt,
                        Ticker& ticker);

    // XOR this with the fingerprint of a subset to restrict the subset to one side of a column.
    const Fingerprint& of(std::size_t column, bool side) const { return fingerprints_[2 * column + (side ? 1 : 0)]; }

  private:
    std::vector<Fingerprint> fingerprints_;
};

}  // namespace topk
