// The caller's rows, whichever way they are stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels.hpp"
#include "prefetch.hpp"
#include "types.hpp"

namespace topk {

class RowSource {
  public:
    RowSource(const Data& data, const Kernels& kernels)
        : data_(data),
          kernels_(kernels),
          words_per_row_((data.n_columns + 63) / 64),
          masks_(words_per_row_, ~std::uint64_t{0}) {
        if (words_per_row_ > 0) {
            masks_.back() >>= 64 * words_per_row_ - data.n_columns;
        }
    }

    std::size_t words_per_row() const { return words_per_row_; }

    // The row's columns as words_per_row() words; bits beyond the last column are zero.
    void read(std::size_t row, std::uint64_t* out) const {
        if (is_packed()) {
            const std::uint64_t* words = data_.rows.data() + row * words_per_row_;
            for (std::size_t g = 0; g < words_per_row_; ++g) {
                out[g] = words[g] & masks_[g];
            }
        } else {
            kernels_.pack_flags(data_.flags.data() + row * data_.n_columns, data_.n_columns, out);
        }
    }

    // Ask for a row that will be read soon.
    void prefetch(std::size_t row) const {
        if (is_packed()) {
            topk::prefetch(data_.rows.data() + row * words_per_row_);
        } else {
            const std::uint8_t* flags = data_.flags.data() + row * data_.n_columns;
            topk::prefetch(flags);
            topk::prefetch(flags + std::min<std::size_t>(64, data_.n_columns - 1));
        }
    }

    bool test(std::size_t row, std::size_t column) const {
        if (is_packed()) {
            return (data_.rows[row * words_per_row_ + column / 64] >> (column % 64) & 1) != 0;
        }
        return data_.flags[row * data_.n_columns + column] != 0;
    }

  private:
    bool is_packed() const { return data_.flags.empty(); }

    const Data& data_;
    const Kernels& kernels_;
    std::size_t words_per_row_;
    std::vector<std::uint64_t> masks_;  // of the columns in each word
};

}  // namespace topk
