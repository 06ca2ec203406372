// Random problems with ordered groups, in two forms: as groups, and with every threshold as a column of bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/problems.hpp"
#include "topk/base/types.hpp"

struct OrderedProblem {
    Problem expanded;  // every column of every group, in the order of all columns
    Problem bits;      // the columns that belong to no group
    std::vector<std::vector<std::uint32_t>> ranks;
    std::vector<topk::OrderedGroup> groups;
    std::vector<std::int32_t> feature;  // per column of all
    std::vector<std::int32_t> second;   // per column of all: as Objective::second_reading

    topk::Data data() {
        topk::Data data = bits.data();
        for (std::size_t g = 0; g < groups.size(); ++g) {
            groups[g].ranks = ranks[g];
        }
        data.groups = groups;
        return data;
    }

    // Return the options for the groups, given those for the expanded columns.
    topk::Options for_groups(const topk::Options& options) const {
        topk::Options own = options;
        own.objective.draw.of_column.clear();
        own.objective.second_reading.clear();
        std::size_t j = 0;
        for (const topk::OrderedGroup& group : groups) {
            take(options, j, group.first, own);
            j = group.first + group.n_columns();
        }
        take(options, j, expanded.n_columns, own);
        return own;
    }

  private:
    static void take(const topk::Options& options, std::size_t begin, std::size_t end, topk::Options& own) {
        for (std::size_t j = begin; j < end; ++j) {
            if (!options.objective.draw.of_column.empty()) {
                own.objective.draw.of_column.push_back(options.objective.draw.of_column[j]);
            }
            if (!options.objective.second_reading.empty()) {
                own.objective.second_reading.push_back(options.objective.second_reading[j]);
            }
        }
    }
};

inline void add_bits(Random& random, OrderedProblem& problem, bool is_plain) {
    const bool is_pair = !is_plain && random.chance(0.3);  // two readings of a test
    const std::size_t n_before = problem.second.size();
    const bool is_copy = is_plain && n_before > 0;  // of a column before it, with which it ties
    const std::size_t copied = is_copy ? random.below(n_before) : 0;
    for (std::size_t i = 0; i < (is_pair ? 2U : 1U); ++i) {
        for (std::size_t row = 0; row < problem.expanded.rows.size(); ++row) {
            const std::uint8_t drawn = random.chance(i == 0 ? 0.4 : 0.1) ? 1 : 0;
            const std::uint8_t bit = is_copy ? problem.expanded.rows[row][copied] : drawn;
            auto& bits = problem.bits.rows[row];
            bits.push_back(i == 0 ? bit : bits.back() ^ bit);
            problem.expanded.rows[row].push_back(bits.back());
        }
        ++problem.bits.n_columns;
        problem.second.push_back(is_pair && i == 0 ? 1 : 0);
    }
}

inline void add_group(Random& random, OrderedProblem& problem, std::size_t n_ranks, bool is_plain) {
    topk::OrderedGroup group;
    group.first = problem.second.size();
    group.n_ranks = static_cast<std::uint32_t>(n_ranks);
    const double missing = is_plain ? 0.0 : random.pick({0.0, 0.0, 0.1, 0.5, 1.0});
    group.has_missing = missing > 0;
    const bool is_clustered = random.chance(0.3);
    std::vector<std::uint32_t> ranks;
    for (auto& row : problem.expanded.rows) {
        std::uint32_t rank = static_cast<std::uint32_t>(random.below(is_clustered ? (n_ranks + 3) / 4 : n_ranks));
        rank = random.chance(missing) ? topk::OrderedGroup::kMissing : rank;
        ranks.push_back(rank);
        const bool is_missing = rank == topk::OrderedGroup::kMissing;
        for (std::size_t reading = 0; reading < (group.has_missing ? 2U : 1U); ++reading) {
            for (std::size_t i = 0; i + 1 < n_ranks; ++i) {
                row.push_back((is_missing ? reading == 0 : rank > i) ? 1 : 0);
            }
        }
        if (group.has_missing) {
            row.push_back(is_missing ? 1 : 0);
        }
    }
    problem.second.resize(problem.second.size() + group.n_columns(), 0);
    for (std::size_t i = 0; i + 1 < n_ranks && group.has_missing; ++i) {
        problem.second[group.first + i] = static_cast<std::int32_t>(n_ranks - 1);
    }
    problem.ranks.push_back(std::move(ranks));
    problem.groups.push_back(group);
}

// Groups and other columns in random order, and classes that depend on some of their columns. Plain: no missing values
// and no second readings.
inline OrderedProblem random_ordered(Random& random, std::size_t n_rows, std::size_t n_parts, std::size_t max_ranks,
                                     std::int32_t n_classes, bool is_plain = false) {
    OrderedProblem problem;
    for (Problem* part : {&problem.expanded, &problem.bits}) {
        part->n_classes = n_classes;
        part->class_weight.assign(static_cast<std::size_t>(n_classes), 1);
        part->rows.resize(n_rows);
    }
    for (std::size_t i = 0; i < n_parts; ++i) {
        if (random.chance(0.3)) {
            add_bits(random, problem, is_plain);
        } else {
            add_group(random, problem, random.between(is_plain ? max_ranks : 1, max_ranks), is_plain);
            problem.groups.back().feature = static_cast<std::int32_t>(i);
        }
        problem.feature.resize(problem.second.size(), static_cast<std::int32_t>(i));
        problem.expanded.n_columns = problem.second.size();
    }
    const std::size_t signal[2] = {random.below(problem.expanded.n_columns + 1),
                                   random.below(problem.expanded.n_columns + 1)};
    const double noise = random.pick({0.1, 0.3, 1.0});
    for (const auto& row : problem.expanded.rows) {
        std::size_t label = 0;
        for (std::size_t s = 0; s < 2; ++s) {
            label += signal[s] < row.size() ? (s + 1) * row[signal[s]] : 0;
        }
        label = random.chance(noise) ? random.bits() : label;
        problem.expanded.classes.push_back(static_cast<std::int32_t>(label % static_cast<std::size_t>(n_classes)));
    }
    problem.bits.classes = problem.expanded.classes;
    return problem;
}
