// The caller's rows, whichever way they are stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels.hpp"
#include "types.hpp"

namespace topk {

class RowSource {
  public:
    RowSource(const Data& data, const Kernels& kernels)
        : data_(data), kernels_(kernels), words_per_row_((data.n_columns + 63) / 64) {}

    std::size_t words_per_row() const { return words_per_row_; }

    // The row's columns as words_per_row() words; bits beyond the last column are zero.
    void read(std::size_t row, std::uint64_t* out) const {
        if (words_per_row_ == 0) {
            return;
        }
        if (is_packed()) {
            std::copy_n(data_.rows.data() + row * words_per_row_, words_per_row_, out);
            out[words_per_row_ - 1] &= ~std::uint64_t{0} >> (64 * words_per_row_ - data_.n_columns);
        } else {
            kernels_.pack_flags(data_.flags.data() + row * data_.n_columns, data_.n_columns, out);
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
};

}  // namespace topk
