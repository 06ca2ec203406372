// Random problems as plain vectors, which the tests compare with the bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "topk/base/types.hpp"

// Draws that are the same on every machine, which the distributions of <random> are not.
class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    std::uint64_t bits() { return engine_(); }
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
    std::size_t between(std::size_t low, std::size_t high) { return low + below(high - low + 1); }
    bool chance(double p) { return static_cast<double>(engine_() >> 11) < p * 0x1p53; }
    template <class T>
    T pick(std::initializer_list<T> values) {
        return values.begin()[below(values.size())];
    }

  private:
    std::mt19937_64 engine_;
};

struct Problem {
    std::size_t n_columns = 0;
    std::int32_t n_classes = 1;
    std::vector<std::vector<std::uint8_t>> rows;  // (n_rows, n_columns), 0 or 1
    std::vector<std::int32_t> classes;
    std::vector<std::int64_t> row_weight;  // may be empty
    std::vector<std::int64_t> class_weight;
    std::vector<std::uint64_t> packed;
    std::vector<std::uint8_t> flags;

    std::int64_t weight(std::size_t row) const {
        return (row_weight.empty() ? 1 : row_weight[row]) * class_weight[static_cast<std::size_t>(classes[row])];
    }
    std::int64_t total_weight() const {
        std::int64_t total = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            total += weight(i);
        }
        return total;
    }
    // Return packed rows; they point into this problem. Precondition: the rows are final.
    topk::Data data() {
        const std::size_t words = (n_columns + 63) / 64;
        packed.assign(rows.size() * words, 0);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            for (std::size_t j = 0; j < n_columns; ++j) {
                packed[i * words + j / 64] |= std::uint64_t{rows[i][j]} << (j % 64);
            }
        }
        return {packed, rows.size(), n_columns, classes, n_classes, row_weight, class_weight, {}};
    }
    // The same as flags.
    topk::Data flag_data() {
        flags.clear();
        for (const auto& row : rows) {
            flags.insert(flags.end(), row.begin(), row.end());
        }
        return {{}, rows.size(), n_columns, classes, n_classes, row_weight, class_weight, flags};
    }
};

// Make column j a copy, the complement or a part of an earlier one, or constant, so that scores tie; or leave it.
inline void derive_column(Random& random, Problem& problem, std::size_t j) {
    const std::size_t other = random.below(j);
    const std::size_t kind = random.below(8);
    const std::uint8_t constant = random.chance(0.5) ? 1 : 0;
    for (auto& row : problem.rows) {
        switch (kind) {
            case 0:
                row[j] = row[other];
                break;
            case 1:
                row[j] = row[other] ^ 1;
                break;
            case 2:
                row[j] = constant;
                break;
            case 3:
                row[j] = random.chance(0.7) ? row[other] : 0;
                break;
            default:
                break;
        }
    }
}

// A problem with many ties, with rows that may be equal, and with classes that depend on some columns; all weights
// are 1.
inline Problem random_problem(Random& random, std::size_t n_rows, std::size_t n_columns, std::int32_t n_classes) {
    Problem problem;
    problem.n_columns = n_columns;
    problem.n_classes = n_classes;
    problem.class_weight.assign(static_cast<std::size_t>(n_classes), 1);
    problem.rows.assign(n_rows, std::vector<std::uint8_t>(n_columns));
    for (std::size_t j = 0; j < n_columns; ++j) {
        const double density = random.pick({0.1, 0.5, 0.5, 0.9});
        for (auto& row : problem.rows) {
            row[j] = random.chance(density) ? 1 : 0;
        }
        if (j > 0) {
            derive_column(random, problem, j);
        }
    }
    if (random.chance(0.3)) {
        const auto originals = problem.rows;
        for (auto& row : problem.rows) {
            row = originals[random.below(std::max<std::size_t>(n_rows / 3, 1))];
        }
    }
    const std::size_t signal[3] = {random.below(n_columns + 1), random.below(n_columns + 1),
                                   random.below(n_columns + 1)};
    const double noise = random.pick({0.1, 0.3, 1.0});
    for (const auto& row : problem.rows) {
        std::size_t label = 0;
        for (std::size_t s = 0; s < 3; ++s) {
            label += signal[s] < n_columns ? (s + 1) * row[signal[s]] : 0;
        }
        label = random.chance(noise) ? random.bits() : label;
        problem.classes.push_back(static_cast<std::int32_t>(label % static_cast<std::size_t>(n_classes)));
    }
    return problem;
}

// Two classes and columns that are independent of them: little can be pruned.
inline Problem noise(std::size_t n_rows, std::size_t n_columns) {
    Random random(n_rows);
    Problem problem;
    problem.n_columns = n_columns;
    problem.n_classes = 2;
    problem.class_weight = {1, 1};
    for (std::size_t i = 0; i < n_rows; ++i) {
        problem.classes.push_back(random.chance(0.5) ? 1 : 0);
        auto& row = problem.rows.emplace_back();
        for (std::size_t j = 0; j < n_columns; ++j) {
            row.push_back(random.chance(0.5) ? 1 : 0);
        }
    }
    return problem;
}

// Row weights in [1, max_weight], none if that is 0, and class weights in [1, max_class_weight].
inline void random_weights(Random& random, std::int64_t max_weight, std::int64_t max_class_weight, Problem& problem) {
    for (std::size_t i = 0; i < problem.rows.size() && max_weight > 0; ++i) {
        problem.row_weight.push_back(1 + static_cast<std::int64_t>(random.below(static_cast<std::size_t>(max_weight))));
    }
    for (std::int64_t& weight : problem.class_weight) {
        weight = 1 + static_cast<std::int64_t>(random.below(static_cast<std::size_t>(max_class_weight)));
    }
}

// Set bits beyond the last column of packed rows: they must be ignored.
inline void add_garbage(Random& random, Problem& problem) {
    const std::size_t words = (problem.n_columns + 63) / 64;
    if (problem.n_columns % 64 != 0) {
        for (std::size_t i = 0; i < problem.rows.size(); ++i) {
            problem.packed[(i + 1) * words - 1] |= random.bits() << (problem.n_columns % 64);
        }
    }
}
