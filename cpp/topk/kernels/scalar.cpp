// Kernels in portable C++: the slow twins of all others, and the only ones that every machine has.
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

const Kernels kScalarKernels = {
    .name = "scalar",
    .count = count,
    .add_product = add_product,
    .xor_fingerprints = xor_fingerprints_loop,
    .last_level = last_level,
    .block_errors = block_errors,
    .raise_bounds = raise_bounds,
    .entropy_score_keys = entropy_score_keys_loop,
    .entropy_block_bounds = entropy_block_bounds,
    .large_entropy_score_keys = large_entropy_score_keys,
    .gini_score_keys = gini_score_keys,
    .sqrt_score_keys = sqrt_score_keys,
    .count_greater = count_greater,
    .likely_keys = likely_keys,
    .sort_keys = sort_keys,
    .count_rows = count_rows,
    .compress = compress,
    .pack_flags = pack_flags_loop,
    .transpose = transpose,
    .hash_words = hash_words,
    .fill_fingerprints = fill_fingerprints,
    .fill_xlog2x = fill_xlog2x,
};

}  // namespace topk
