// The caller's rows, packed or as flags.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "topk/base/prefetch.hpp"
#include "topk/base/types.hpp"
#include "topk/kernels/kernels.hpp"

namespace topk {

class RowSource {
  public:
    RowSource(const Data& data, const Kernels& kernels)
        : data_(data),
          kernels_(kernels),
          n_stored_(data.n_stored_columns()),
          words_per_row_((n_stored_ + 63) / 64),
          masks_(words_per_row_, data.n_columns == n_stored_ ? ~std::uint64_t{0} : 0) {
        if (words_per_row_ > 0) {
            masks_.back() >>= 64 * words_per_row_ - n_stored_;
        }
        for (const std::int32_t column : data.columns) {
            masks_[static_cast<std::size_t>(column) / 64] |= std::uint64_t{1} << (column % 64);
        }
    }

    std::size_t n_stored() const { return n_stored_; }
    std::size_t words_per_row() const { return words_per_row_; }

    // Return the index of a column among the stored columns.
    std::size_t position(std::size_t column) const {
        return data_.columns.empty() ? column : static_cast<std::size_t>(data_.columns[column]);
    }

    // Read a row as words_per_row() words. Bits that belong to no column that takes part are zero.
    void read(std::size_t row, std::uint64_t* out) const {
        if (is_packed()) {
            const std::uint64_t* words = data_.rows.data() + row * words_per_row_;
            for (std::size_t g = 0; g < words_per_row_; ++g) {
                out[g] = words[g] & masks_[g];
            }
        } else {
            kernels_.pack_flags(data_.flags.data() + row * n_stored_, n_stored_, out);
            for (std::size_t g = 0; g < words_per_row_; ++g) {
                out[g] &= masks_[g];
            }
        }
    }

    // Prefetch a row that will be read soon.
    void prefetch(std::size_t row) const {
        if (is_packed()) {
            topk::prefetch(data_.rows.data() + row * words_per_row_);
        } else {
            const std::uint8_t* flags = data_.flags.data() + row * n_stored_;
            topk::prefetch(flags);
            topk::prefetch(flags + std::min<std::size_t>(64, n_stored_ - 1));
        }
    }

    bool test(std::size_t row, std::size_t column) const {
        const std::size_t at = position(column);
        if (is_packed()) {
            return (data_.rows[row * words_per_row_ + at / 64] >> (at % 64) & 1) != 0;
        }
        return data_.flags[row * n_stored_ + at] != 0;
    }

  private:
    bool is_packed() const { return data_.flags.empty(); }

    const Data& data_;
    const Kernels& kernels_;
    std::size_t n_stored_;
    std::size_t words_per_row_;
    std::vector<std::uint64_t> masks_;  // per word: the columns that take part
};

}  // namespace topk
