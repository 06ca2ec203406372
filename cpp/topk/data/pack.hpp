// From arrays to packed rows: bit j % 64 of word j / 64 of a row is column j.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace topk {

// What the columns of a table of numbers mean. Those of feature f stand together: one per entry, then, if
// tests_missing[f], one that is true where the value is NaN.
struct FeatureColumns {
    std::span<const double> entries;         // of all features, ascending within each
    std::span<const std::int64_t> offsets;   // feature f has the entries from offsets[f] to offsets[f + 1]
    std::span<const std::uint8_t> equality;  // 1: true if value == entry; 0: true unless value <= entry, so for NaN
    std::span<const std::uint8_t> tests_missing;  // 0 or 1

    std::size_t n_features() const { return equality.size(); }
    std::size_t n_columns() const;
};

// values: n_rows * n_columns bytes, row-major, 0 or 1. Returns false, with `out` half filled, if there is another
// value.
bool pack_booleans(const std::uint8_t* values, std::size_t n_rows, std::size_t n_columns, std::uint64_t* out);

// values: n_features arrays of n_rows numbers each, one after the other. `out` must be zero on entry.
void pack_features(const double* values, std::size_t n_rows, const FeatureColumns& columns, std::uint64_t* out);

// Two words per column: the XOR of random keys of the rows where it is true. Columns that are equal on all rows have
// equal words, those that are not have different ones but for a chance of 2^-128; the last pair is that of a column of
// ones. The rows are numbered from `first_row` on: of parts of the rows, the words of the whole are the XOR.
void hash_columns(const double* values, std::size_t n_rows, std::uint64_t first_row, const FeatureColumns& columns,
                  std::uint64_t* out);

}  // namespace topk
