// From arrays to packed rows: bit j % 64 of word j / 64 of a row is column j.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace topk {

// values: n_rows * n_columns bytes, row-major, 0 or 1. Returns false, with `out` half filled, if there is another
// value.
bool pack_booleans(const std::uint8_t* values, std::size_t n_rows, std::size_t n_columns, std::uint64_t* out);

// Column offsets[f] + t is `feature f > thresholds[offsets[f] + t]`; the thresholds of a feature ascend.
// values: n_features arrays of n_rows numbers each, one after the other. `out` must be zero on entry.
void pack_thresholds(const double* values, std::size_t n_rows, std::span<const double> thresholds,
                     std::span<const std::int64_t> offsets, std::uint64_t* out);

}  // namespace topk
