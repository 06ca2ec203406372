// Packing goes row by row, so that the rows can be put in any order before they are transposed.
#include "topk/data/pack.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "topk/base/fingerprint.hpp"
#include "topk/data/count_below.hpp"

namespace topk {
namespace {

// The columns of one group. A value is in one of n_entries + 2 cells: for at_most, the number of entries below it; for
// equals, the index of its entry, or n_entries if it has none; for is_missing, n_entries. The last cell is for NaN.
struct Group {
    std::span<const double> entries;
    std::size_t n_entries;
    Test test;
    bool set_if_missing;

    Group(const ColumnGroups& columns, std::size_t g)
        : entries(columns.entries.subspan(static_cast<std::size_t>(columns.offsets[g]),
                                          static_cast<std::size_t>(columns.offsets[g + 1] - columns.offsets[g]))),
          n_entries(entries.size()),
          test(static_cast<Test>(columns.test[g])),
          set_if_missing(test == Test::is_missing || (test == Test::equals) == (columns.or_missing[g] != 0)) {}

    std::size_t n_cells() const { return n_entries + 2; }
    std::size_t missing_cell() const { return n_entries + 1; }

    // Find the cells of some values.
    void locate(std::span<const double> values, std::uint32_t* cells) const {
        if (test == Test::is_missing) {
            std::fill_n(cells, values.size(), static_cast<std::uint32_t>(n_entries));
        } else {
            count_below(entries, values, cells);
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (std::isnan(values[i])) {
                cells[i] = static_cast<std::uint32_t>(missing_cell());
            } else if (test == Test::equals && (cells[i] == n_entries || entries[cells[i]] != values[i])) {
                cells[i] = static_cast<std::uint32_t>(n_entries);
            }
        }
    }

    void set_bits(std::size_t cell, std::size_t first_column, std::uint64_t* words) const {
        if (cell == missing_cell()) {
            set_range(words, first_column, first_column + (set_if_missing ? n_entries : 0));
        } else if (test == Test::at_most) {
            set_range(words, first_column, first_column + cell);
        } else if (cell < n_entries) {
            set_range(words, first_column + cell, first_column + cell + 1);
        }
    }

  private:
    static void set_range(std::uint64_t* words, std::size_t first, std::size_t last) {
        for (std::size_t j = first; j < last;) {
            const std::size_t in_word = std::min(last - j, 64 - j % 64);
            words[j / 64] |= (~std::uint64_t{0} >> (64 - in_word)) << (j % 64);
            j += in_word;
        }
    }
};

// The values of the feature that a group tests.
const double* values_of(const double* values, std::size_t n_rows, const ColumnGroups& columns, std::size_t g) {
    return values + static_cast<std::size_t>(columns.feature[g]) * n_rows;
}

Fingerprint hash_values(Fingerprint start, std::span<const double> values, const Kernels& kernels) {
    std::vector<std::uint64_t> words(std::min<std::size_t>(values.size(), 4096));
    for (std::size_t begin = 0; begin < values.size(); begin += words.size()) {
        const std::size_t n = std::min(words.size(), values.size() - begin);
        std::memcpy(words.data(), values.data() + begin, n * sizeof(double));
        start = kernels.hash_words(start, words.data(), n);
    }
    return start;
}

// Per group and cell: the fingerprint of the rows in it.
std::vector<std::vector<Fingerprint>> hash_cells(const double* values, std::size_t n_rows, const Fingerprint& salt,
                                                 const ColumnGroups& columns) {
    std::vector<std::vector<Fingerprint>> cells;
    for (std::size_t g = 0; g < columns.size(); ++g) {
        cells.emplace_back(Group(columns, g).n_cells());
    }
    constexpr std::size_t kBlock = 1024;
    std::vector<Fingerprint> of_row(kBlock);
    std::vector<std::uint32_t> cell_of(kBlock);
    for (std::size_t begin = 0; begin < n_rows; begin += kBlock) {
        const std::size_t n = std::min(kBlock, n_rows - begin);
        for (std::size_t i = 0; i < n; ++i) {
            of_row[i] = salted_fingerprint(salt, begin + i);
        }
        for (std::size_t g = 0; g < columns.size(); ++g) {
            Group(columns, g).locate({values_of(values, n_rows, columns, g) + begin, n}, cell_of.data());
            for (std::size_t i = 0; i < n; ++i) {
                cells[g][cell_of[i]] = cells[g][cell_of[i]] ^ of_row[i];
            }
        }
    }
    return cells;
}

}  // namespace

void pack_features(const double* values, std::size_t n_rows, const ColumnGroups& columns, std::uint64_t* out) {
    const std::size_t words_per_row = (columns.n_columns() + 63) / 64;
    // The words of a block of rows stay in the cache while one feature after the other is written to them.
    const std::size_t block = std::clamp<std::size_t>((1U << 14) / std::max<std::size_t>(words_per_row, 1), 16, 4096);
    std::vector<std::uint32_t> cells(block);
    for (std::size_t begin = 0; begin < n_rows; begin += block) {
        const std::size_t n = std::min(block, n_rows - begin);
        for (std::size_t g = 0; g < columns.size(); ++g) {
            const Group group(columns, g);
            const auto first_column = static_cast<std::size_t>(columns.offsets[g]);
            group.locate({values_of(values, n_rows, columns, g) + begin, n}, cells.data());
            for (std::size_t i = 0; i < n; ++i) {
                group.set_bits(cells[i], first_column, out + (begin + i) * words_per_row);
            }
        }
    }
}

void hash_columns(std::span<const double> values, std::size_t n_rows, const ColumnGroups& columns,
                  const Kernels& kernels, std::uint64_t* out) {
    const Fingerprint salt = hash_values(hash_values({}, columns.entries, kernels), values, kernels);
    std::vector<std::vector<Fingerprint>> cells = hash_cells(values.data(), n_rows, salt, columns);
    const auto append = [&](const Fingerprint& fingerprint) {
        *out++ = fingerprint.low;
        *out++ = fingerprint.high;
    };
    for (std::size_t g = 0; g < columns.size(); ++g) {
        const Group group(columns, g);
        const Fingerprint missing = group.set_if_missing ? cells[g][group.missing_cell()] : Fingerprint{};
        Fingerprint above;  // of the rows in higher cells
        for (std::size_t i = group.n_entries; i-- > 0;) {
            above = above ^ cells[g][i + 1];
            cells[g][i + 1] = (group.test == Test::at_most ? above : cells[g][i]) ^ missing;  // column i, from here on
        }
        for (std::size_t i = 1; i <= group.n_entries; ++i) {
            append(cells[g][i]);
        }
    }
    Fingerprint all;
    for (std::size_t i = 0; i < n_rows; ++i) {
        all = all ^ salted_fingerprint(salt, i);
    }
    append(all);
}

std::vector<std::uint8_t> redundant_columns(std::span<const std::uint64_t> hashes) {
    constexpr std::size_t kWords = 4;
    struct Column {
        std::array<std::uint64_t, 2> hash;  // a column and its complement share the smaller hash of the two
        std::size_t place;
    };
    const std::size_t n = hashes.size() / kWords - 1;
    std::vector<Column> columns;
    for (std::size_t i = 0; i <= n; ++i) {
        const std::uint64_t* words = hashes.data() + i * kWords;
        columns.push_back({std::min(std::array{words[0], words[1]}, std::array{words[2], words[3]}),
                           i == n ? 0 : i + 1});  // the constant comes first
    }
    std::sort(columns.begin(), columns.end(),
              [](const Column& a, const Column& b) { return a.hash != b.hash ? a.hash < b.hash : a.place < b.place; });
    std::vector<std::uint8_t> are_redundant(n);
    for (std::size_t i = 1; i <= n; ++i) {
        if (columns[i].place > 0) {
            are_redundant[columns[i].place - 1] = columns[i].hash == columns[i - 1].hash ? 1 : 0;
        }
    }
    return are_redundant;
}

}  // namespace topk
