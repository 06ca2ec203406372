// Packing goes row by row, so that the rows can be put in any order before they are transposed.
#include "pack.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace topk {
namespace {

// The lowest bits of eight bytes, as one byte; byte 0 gives bit 0 on a little-endian machine.
std::uint64_t gather_bits(std::uint64_t bytes) { return (bytes * 0x0102040810204080U) >> 56; }

std::uint64_t load_little_endian(const std::uint8_t* p, std::size_t n) {
    std::uint64_t x = 0;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(&x, p, n);
    } else {
        for (std::size_t i = 0; i < n; ++i) {
            x |= std::uint64_t{p[i]} << (8 * i);
        }
    }
    return x;
}

}  // namespace

bool pack_booleans(const std::uint8_t* values, std::size_t n_rows, std::size_t n_columns, std::uint64_t* out) {
    const std::size_t words_per_row = (n_columns + 63) / 64;
    std::uint64_t seen = 0;
    for (std::size_t row = 0; row < n_rows; ++row) {
        const std::uint8_t* in = values + row * n_columns;
        for (std::size_t w = 0; w < words_per_row; ++w) {
            std::uint64_t word = 0;
            const std::size_t end = std::min(n_columns, 64 * (w + 1));
            std::size_t j = 64 * w;
            for (; j + 8 <= end; j += 8) {
                const std::uint64_t bytes = load_little_endian(in + j, 8);
                seen |= bytes;
                word |= gather_bits(bytes) << (j % 64);
            }
            if (j < end) {
                const std::uint64_t bytes = load_little_endian(in + j, end - j);
                seen |= bytes;
                word |= gather_bits(bytes) << (j % 64);
            }
            out[row * words_per_row + w] = word;
        }
    }
    return (seen & 0xfefefefefefefefeU) == 0;
}

void pack_thresholds(const double* values, std::size_t n_rows, std::span<const double> thresholds,
                     std::span<const std::int64_t> offsets, std::uint64_t* out) {
    const std::size_t words_per_row = (thresholds.size() + 63) / 64;
    for (std::size_t f = 0; f + 1 < offsets.size(); ++f) {
        const auto first = static_cast<std::size_t>(offsets[f]);
        const auto n = static_cast<std::size_t>(offsets[f + 1]) - first;
        const double* feature = values + f * n_rows;
        for (std::size_t row = 0; row < n_rows; ++row) {
            // Thresholds below the value come first: their columns are true.
            const double* begin = thresholds.data() + first;
            const std::size_t n_true =
                static_cast<std::size_t>(std::lower_bound(begin, begin + n, feature[row]) - begin);
            std::uint64_t* words = out + row * words_per_row;
            for (std::size_t j = first; j < first + n_true;) {
                const std::size_t in_word = std::min(first + n_true - j, 64 - j % 64);
                words[j / 64] |= (~std::uint64_t{0} >> (64 - in_word)) << (j % 64);
                j += in_word;
            }
        }
    }
}

}  // namespace topk
