// Tables built around a collision of fingerprints that do not depend on the data: {splitmix64(2 i), splitmix64(2 i +
// 1)} for the row at place i. A search that identified subsets by those would take two different subsets for one.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/problems.hpp"
#include "topk/base/fingerprint.hpp"

// Return some of the places, at least one, whose unsalted fingerprints cancel, by Gaussian elimination. Precondition:
// 129 to 256 places, which are always linearly dependent.
inline std::vector<std::size_t> cancelling(const std::vector<std::size_t>& places) {
    struct Row {
        std::bitset<128> value;
        std::bitset<256> members;
    };
    std::array<Row, 128> pivots;
    for (std::size_t i = 0; i < places.size(); ++i) {
        Row row;
        row.value = std::bitset<128>(topk::splitmix64(2 * places[i])) << 64;
        row.value |= std::bitset<128>(topk::splitmix64(2 * places[i] + 1));
        row.members.set(i);
        for (std::size_t bit = 0; bit < 128 && row.value.any(); ++bit) {
            if (!row.value[bit]) {
                continue;
            }
            if (pivots[bit].value.none()) {
                pivots[bit] = row;
                break;
            }
            row.value ^= pivots[bit].value;
            row.members ^= pivots[bit].members;
        }
        if (row.value.none()) {
            std::vector<std::size_t> found;
            for (std::size_t m = 0; m <= i; ++m) {
                if (row.members[m]) {
                    found.push_back(places[m]);
                }
            }
            return found;
        }
    }
    return {};
}

// 900 rows, 600 of class 0 and then 300 of class 1. Columns 0 and 1 are true on two subsets whose unsalted fingerprints
// agree: 300 rows on which the class is column 2 XOR column 3, with rows of class 0 in the first subset and rows of
// class 1 in the second, which a tree of two levels cannot tell apart there. Column 4 marks the other rows of class 1.
// The best tree of depth 3 splits on column 0 and has no errors; the second subset, which is tried first, has some.
inline Problem crafted_problem() {
    constexpr std::size_t kFirst = 600;  // rows of class 0; class 1 starts a new word, at place 640
    constexpr std::size_t kPlaces = 640;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < 70; ++i) {
        places.push_back(i);
        places.push_back(kPlaces + i);
    }
    Problem problem;
    problem.n_columns = 5;
    problem.n_classes = 2;
    problem.class_weight = {1, 1};
    for (std::size_t i = 0; i < 900; ++i) {
        problem.classes.push_back(i < kFirst ? 0 : 1);
        problem.rows.push_back({0, 0, 0, 0, static_cast<std::uint8_t>(i < kFirst ? 0 : 1)});
    }
    for (const std::size_t place : cancelling(places)) {
        problem.rows[place < kFirst ? place : place - kPlaces + kFirst] =
            place < kFirst ? std::vector<std::uint8_t>{1, 0, 0, 0, 0} : std::vector<std::uint8_t>{0, 1, 0, 0, 0};
    }
    for (std::size_t i = 0; i < 60; ++i) {
        problem.rows[100 + i] = {1, 1, 0, 0, 0};
        problem.rows[160 + i] = {1, 1, 1, 1, 0};
        problem.rows[700 + i] = {1, 1, 1, 0, 0};
        problem.rows[760 + 2 * i] = {1, 1, 0, 1, 0};
        problem.rows[761 + 2 * i] = {1, 1, 0, 1, 0};
    }
    return problem;
}
