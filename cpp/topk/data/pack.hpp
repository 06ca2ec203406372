// From arrays to packed rows: bit j % 64 of word j / 64 of a row is column j.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "topk/kernels/kernels.hpp"

namespace topk {

// The meaning of the columns of a table of numbers. The columns of feature f are adjacent: one per entry, then, if
// tests_missing[f], one that is true where the value is NaN.
struct FeatureColumns {
    std::span<const double> entries;         // of all features, ascending within each feature
    std::span<const std::int64_t> offsets;   // feature f has the entries from offsets[f] to offsets[f + 1]
    std::span<const std::uint8_t> equality;  // 1: true if value == entry; 0: true unless value <= entry (true for NaN)
    std::span<const std::uint8_t> tests_missing;  // 0 or 1

    std::size_t n_features() const { return equality.size(); }
    std::size_t n_columns() const;
};

// Pack n_rows * n_columns bytes, row-major, 0 or 1. Returns false, with `out` partly written, if there is another
// value.
bool pack_booleans(const std::uint8_t* values, std::size_t n_rows, std::size_t n_columns, std::uint64_t* out);

// Pack n_features arrays of n_rows numbers each, one after the other. Precondition: `out` is zero.
void pack_features(const double* values, std::size_t n_rows, const FeatureColumns& columns, std::uint64_t* out);

// Write two words per column: the fingerprint of the rows where it is true, and at the end that of all rows. Columns
// that are equal on all rows have equal fingerprints; other columns share one with probability 2^-128. The fingerprints
// are salted with a hash of the values and entries, so those of different tables cannot be compared.
void hash_columns(const double* values, std::size_t n_rows, const FeatureColumns& columns, const Kernels& kernels,
                  std::uint64_t* out);

}  // namespace topk
