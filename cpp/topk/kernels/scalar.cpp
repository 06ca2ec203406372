// Kernels in portable C++: the slow twin of all others, and the only one every machine has.
#include "topk/kernels/common.hpp"
#include "topk/kernels/tables.hpp"

namespace topk {
namespace {

void count(const std::uint64_t* bits, std::size_t stride, WordList list, std::size_t n_columns, std::int32_t* out) {
    for (std::size_t j = 0; j < n_columns; ++j) {
        out[j] = 0;
    }
    for (std::size_t i = 0; i < list.size; ++i) {
        const std::uint64_t* row = bits + list.words[i] * stride;
        for (std::size_t j = 0; j < n_columns; ++j) {
            out[j] += sum_bits(list.masks[i] & row[j]);
        }
    }
}

}  // namespace

const Kernels kScalarKernels = {"scalar",      count,        add_product,       xor_keys_loop,
                                last_level,    raise_bounds, entropy_keys_loop, large_entropy_keys,
                                count_greater, count_rows,   compress,          pack_flags_loop,
                                transpose,     fill_keys,    fill_xlog2x};

}  // namespace topk
