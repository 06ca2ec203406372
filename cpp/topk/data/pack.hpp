// From arrays to packed rows: bit j % 64 of word j / 64 of a row is column j.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topk/kernels/kernels.hpp"

namespace topk {

// What a column asks of a value of its feature. NaN is a missing value.
enum class Test : std::uint8_t { at_most = 0, equals = 1, is_missing = 2 };

// The meaning of the columns of a table of numbers: one column per entry, in groups that apply one test to one feature.
// A bit is set where `value == entry` or `is missing` is true, but where `value <= entry` is false.
struct ColumnGroups {
    std::span<const double> entries;           // of all groups, ascending within each group; any number for is_missing
    std::span<const std::int64_t> offsets;     // group g has the entries from offsets[g] to offsets[g + 1]
    std::span<const std::int64_t> feature;     // of each group
    std::span<const std::uint8_t> test;        // of each group, a Test
    std::span<const std::uint8_t> or_missing;  // of each group: 1: at_most and equals are true for a missing value too

    std::size_t size() const { return feature.size(); }
    std::size_t n_columns() const { return entries.size(); }
};

// Pack n_features arrays of n_rows numbers each, one after the other. Precondition: `out` is zero.
void pack_features(const double* values, std::size_t n_rows, const ColumnGroups& columns, std::uint64_t* out);

// Write two words per column: the fingerprint of the rows where its bit is set, and at the end that of all rows.
// Columns that are equal on all rows have equal fingerprints; other columns share one with probability 2^-128. The
// fingerprints are salted with a hash of the values and entries, so those of different tables cannot be compared.
// `values`: n_features arrays of n_rows numbers each.
void hash_columns(std::span<const double> values, std::size_t n_rows, const ColumnGroups& columns,
                  const Kernels& kernels, std::uint64_t* out);

// Return for each column whether it is constant, or equal or opposite to an earlier one. `hashes`: two words per column
// and two of its complement, those of a constant at the end.
std::vector<std::uint8_t> redundant_columns(std::span<const std::uint64_t> hashes);

}  // namespace topk
