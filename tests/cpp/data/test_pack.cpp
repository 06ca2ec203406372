// Packed rows, fingerprints of columns, and boundaries between classes, against plain loops.
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "support/check.hpp"
#include "support/crafted.hpp"
#include "support/problems.hpp"
#include "topk/data/boundaries.hpp"
#include "topk/data/pack.hpp"

using namespace topk;

namespace {

// Values and entries from a small grid, so that many are equal, with infinities and missing values.
struct Table {
    std::vector<double> entries;
    std::vector<std::int64_t> offsets = {0};
    std::vector<std::int64_t> feature;
    std::vector<std::uint8_t> test;
    std::vector<std::uint8_t> or_missing;
    std::vector<double> values;
    std::vector<std::vector<std::uint8_t>> columns;  // the expected columns, row by row

    ColumnGroups view() const { return {entries, offsets, feature, test, or_missing}; }
};

double draw(Random& random) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto grid = static_cast<double>(random.below(40)) / 4 - 5;
    return random.chance(0.1) ? random.pick({kInfinity, -kInfinity, -0.0}) : grid;
}

// Add a group of columns that apply one test to the last feature.
void add_group(Table& table, std::size_t n_rows, std::vector<double> entries, Test test, bool or_missing) {
    const std::size_t f = table.values.size() / n_rows - 1;
    table.feature.push_back(static_cast<std::int64_t>(f));
    table.test.push_back(static_cast<std::uint8_t>(test));
    table.or_missing.push_back(or_missing ? 1 : 0);
    table.entries.insert(table.entries.end(), entries.begin(), entries.end());
    table.offsets.push_back(static_cast<std::int64_t>(table.entries.size()));
    for (const double entry : entries) {
        table.columns.emplace_back();
        for (std::size_t i = 0; i < n_rows; ++i) {
            const double value = table.values[f * n_rows + i];
            bool holds = test == Test::at_most ? value <= entry : value == entry;
            holds = std::isnan(value) ? or_missing || test == Test::is_missing : holds && test != Test::is_missing;
            table.columns.back().push_back(holds == (test != Test::at_most) ? 1 : 0);
        }
    }
}

Table random_table(Random& random, std::size_t n_rows, std::size_t n_features) {
    Table table;
    for (std::size_t f = 0; f < n_features && n_rows > 0; ++f) {
        std::vector<double> values(n_rows);
        std::generate(values.begin(), values.end(), [&] { return random.chance(0.1) ? std::nan("") : draw(random); });
        table.values.insert(table.values.end(), values.begin(), values.end());
        std::vector<double> entries(random.below(random.pick<std::size_t>({2, 10, 150})));
        std::generate(entries.begin(), entries.end(), [&] { return draw(random); });
        std::sort(entries.begin(), entries.end());
        const Test test = random.chance(0.4) ? Test::equals : Test::at_most;
        if (test == Test::equals) {
            entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
        }
        for (const bool or_missing : {false, true}) {
            if (random.chance(0.7)) {
                add_group(table, n_rows, entries, test, or_missing);
            }
        }
        if (random.chance(0.5)) {
            add_group(table, n_rows, {std::nan("")}, Test::is_missing, false);
        }
    }
    return table;
}

void test_pack_features(const Table& table, std::size_t n_rows) {
    const std::size_t n_columns = table.view().n_columns();
    CHECK(n_columns == table.columns.size());
    const std::size_t words = (n_columns + 63) / 64;
    std::vector<std::uint64_t> packed(n_rows * words, 0);
    std::vector<std::uint64_t> expected = packed;
    pack_features(table.values.data(), n_rows, table.view(), packed.data());
    for (std::size_t j = 0; j < n_columns; ++j) {
        for (std::size_t i = 0; i < n_rows; ++i) {
            expected[i * words + j / 64] |= std::uint64_t{table.columns[j][i]} << (j % 64);
        }
    }
    CHECK(packed == expected, n_rows << " rows, " << n_columns << " columns");
}

void test_hash_columns(const Table& table, std::size_t n_rows) {
    const std::size_t n_columns = table.columns.size();
    std::vector<std::uint64_t> hashes(2 * (n_columns + 1));
    hash_columns(table.values, n_rows, table.view(), find_kernels(""), hashes.data());
    std::vector<std::vector<std::uint8_t>> columns = table.columns;
    columns.emplace_back(n_rows, std::uint8_t{1});
    for (std::size_t a = 0; a < columns.size(); ++a) {
        for (std::size_t b = 0; b <= a; ++b) {
            for (std::size_t word = 0; word < 2; ++word) {
                CHECK((hashes[2 * a + word] == hashes[2 * b + word]) == (columns[a] == columns[b]), a << ' ' << b);
            }
        }
    }
}

// Two features whose columns differ in rows with unsalted fingerprints that cancel.
void test_crafted_columns() {
    constexpr std::size_t kRows = 200;
    std::vector<std::size_t> places(140);
    std::iota(places.begin(), places.end(), 0);
    std::vector<double> values(2 * kRows, 0.0);
    for (const std::size_t row : cancelling(places)) {
        values[row] = 1.0;
    }
    for (std::size_t row = 150; row < kRows; ++row) {
        values[row] = values[kRows + row] = 1.0;
    }
    const std::vector<double> entries = {0.5, 0.5};
    const std::vector<std::int64_t> offsets = {0, 1, 2};
    const std::vector<std::int64_t> features = {0, 1};
    const std::vector<std::uint8_t> no = {0, 0};
    std::vector<std::uint64_t> hashes(6);
    hash_columns(values, kRows, {entries, offsets, features, no, no}, find_kernels(""), hashes.data());
    CHECK(hashes[0] != hashes[2] && hashes[1] != hashes[3]);
}

// The Gini gain of a split of the cells [begin, end) after `edge`.
double gini_gain(const std::vector<std::vector<double>>& cells, std::size_t begin, std::size_t edge, std::size_t end) {
    const auto purity = [&](std::size_t first, std::size_t last) {
        std::vector<double> sums(cells[0].size(), 0);
        double total = 0;
        for (std::size_t i = first; i < last; ++i) {
            for (std::size_t c = 0; c < sums.size(); ++c) {
                sums[c] += cells[i][c];
                total += cells[i][c];
            }
        }
        double squares = 0;
        for (const double sum : sums) {
            squares += sum * sum;
        }
        return total > 0 ? squares / total : 0.0;
    };
    return purity(begin, edge + 1) + purity(edge + 1, end) - purity(begin, end);
}

using Cells = std::vector<std::vector<double>>;  // (n_cells, n_classes)

// At every step, the edge with the highest gain is next; the order ends where no edge has a gain.
void check_order(const std::vector<std::int64_t>& order, const Cells& cells, std::size_t n) {
    std::vector<std::size_t> bounds = {0, cells.size()};
    for (std::size_t step = 0; step < n; ++step) {
        double best = 0;
        std::size_t best_edge = cells.size();
        for (std::size_t s = 0; s + 1 < bounds.size(); ++s) {
            for (std::size_t edge = bounds[s]; edge + 1 < bounds[s + 1]; ++edge) {
                const double gain = gini_gain(cells, bounds[s], edge, bounds[s + 1]);
                if (gain > best) {
                    best = gain;
                    best_edge = edge;
                }
            }
        }
        if (step >= order.size()) {
            CHECK(best <= 0, "stopped at step " << step);
            break;
        }
        CHECK(order[step] == static_cast<std::int64_t>(best_edge), "step " << step);
        bounds.push_back(best_edge + 1);
        std::sort(bounds.begin(), bounds.end());
    }
}

void test_split_order(Random& random, std::size_t n_rows) {
    std::set<double> distinct;
    for (std::size_t i = random.below(20); i > 0; --i) {
        distinct.insert(static_cast<double>(random.below(40)));
    }
    const std::vector<double> edges(distinct.begin(), distinct.end());
    constexpr std::size_t kClasses = 3;
    std::vector<double> values;
    std::vector<double> weights;
    std::vector<std::int32_t> classes;
    Cells cells(edges.size() + 1, std::vector<double>(kClasses, 0));
    const bool weighted = random.chance(0.5);
    for (std::size_t i = 0; i < n_rows; ++i) {
        values.push_back(random.chance(0.1) ? std::nan("") : static_cast<double>(random.below(44)) - 2);
        classes.push_back(static_cast<std::int32_t>(random.below(kClasses)));
        weights.push_back(weighted ? static_cast<double>(random.between(1, 4)) : 1.0);
        if (!std::isnan(values[i])) {
            const auto cell = std::lower_bound(edges.begin(), edges.end(), values[i]) - edges.begin();
            cells[static_cast<std::size_t>(cell)][static_cast<std::size_t>(classes[i])] += weights[i];
        }
    }
    const auto counted = class_cells(values, edges, classes, kClasses, weighted ? weights : std::vector<double>());
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
        CHECK(std::equal(cells[cell].begin(), cells[cell].end(),
                         counted.begin() + static_cast<std::ptrdiff_t>(cell * kClasses)));
    }
    const std::size_t n = random.below(12);
    check_order(split_order(counted, kClasses, n), cells, n);
}

}  // namespace

int main() {
    test_crafted_columns();
    Random random(7);
    for (int i = 0; i <= 200; ++i) {
        const std::size_t n_rows = random.below(random.pick<std::size_t>({30, 300}));
        const Table table = random_table(random, n_rows, random.below(6));
        test_pack_features(table, n_rows);
        test_hash_columns(table, n_rows);
        test_split_order(random, random.below(60));
    }
    return check::report();
}
