// Kernels in portable C++: the slow twin of all others, and the only one every machine has.
#include "kernels_common.hpp"
#include "kernels_tables.hpp"

namespace topk {
namespace {

std::int32_t popcount(std::uint64_t x) {
    x -= (x >> 1) & 0x5555555555555555U;
    x = (x & 0x3333333333333333U) + ((x >> 2) & 0x3333333333333333U);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fU;
    return static_cast<std::int32_t>((x * 0x0101010101010101U) >> 56);
}

void count(const std::uint64_t* bits, std::size_t stride, WordList list, std::size_t n_columns, std::int32_t* out) {
    for (std::size_t j = 0; j < n_columns; ++j) {
        out[j] = 0;
    }
    for (std::size_t i = 0; i < list.size; ++i) {
        const std::uint64_t* row = bits + list.words[i] * stride;
        for (std::size_t j = 0; j < n_columns; ++j) {
            out[j] += popcount(list.masks[i] & row[j]);
        }
    }
}

}  // namespace

const Kernels kScalarKernels = {"scalar",          count,         xor_keys_loop, last_level, raise_bounds,
                                entropy_keys_loop, count_greater, count_rows,    compress,   pack_flags_loop,
                                transpose,         fill_keys,     fill_xlog2x};

}  // namespace topk
