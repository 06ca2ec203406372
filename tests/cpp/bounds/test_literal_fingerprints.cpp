// Fingerprints of paths: equal for the same splits in any order, also of equal or complementary columns; else
// different.
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/bounds/literal_fingerprints.hpp"
#include "topk/data/bit_matrix.hpp"

using namespace topk;

namespace {

using Rows = std::vector<bool>;
using Halves = std::pair<std::uint64_t, std::uint64_t>;

Halves pair(const Fingerprint& fingerprint) { return {fingerprint.low, fingerprint.high}; }

Rows rows_on_side(const Problem& problem, std::size_t column, bool side) {
    Rows rows;
    for (const auto& row : problem.rows) {
        rows.push_back((row[column] != 0) == side);
    }
    return rows;
}

// Literals have the same fingerprint if and only if they keep the same rows.
std::vector<Fingerprint> distinct_literals(const Problem& problem, const LiteralFingerprints& fingerprints) {
    std::map<Rows, Fingerprint> fingerprint_of;
    std::set<Halves> seen;
    for (std::size_t column = 0; column < problem.n_columns; ++column) {
        for (const bool side : {false, true}) {
            const Fingerprint& fingerprint = fingerprints.of(column, side);
            const auto [at, is_new] = fingerprint_of.emplace(rows_on_side(problem, column, side), fingerprint);
            CHECK(at->second == fingerprint, "column " << column);
            CHECK(seen.insert(pair(fingerprint)).second == is_new, "column " << column);
        }
    }
    std::vector<Fingerprint> distinct;
    for (const auto& [rows, fingerprint] : fingerprint_of) {
        distinct.push_back(fingerprint);
    }
    return distinct;
}

// All sets of up to three literals have different fingerprints.
void check_paths(const std::vector<Fingerprint>& literals) {
    std::set<std::uint64_t> low = {0};
    std::set<std::uint64_t> high = {0};
    std::size_t n = 1;
    const auto add = [&](const Fingerprint& fingerprint) {
        ++n;
        low.insert(fingerprint.low);
        high.insert(fingerprint.high);
    };
    for (std::size_t i = 0; i < literals.size(); ++i) {
        add(literals[i]);
        for (std::size_t j = 0; j < i; ++j) {
            add(literals[i] ^ literals[j]);
            for (std::size_t k = 0; k < j; ++k) {
                add(literals[i] ^ literals[j] ^ literals[k]);
            }
        }
    }
    CHECK(low.size() == n, literals.size() << " literals");
    CHECK(high.size() == n, literals.size() << " literals");
}

void test_problem(Problem& problem, Arrange arrange) {
    Monitor monitor({});
    Ticker ticker(monitor);
    BitMatrix matrix;
    Subset all;
    build_matrix(problem.data(), {.arrange = arrange}, find_kernels(""), ticker, matrix, all);
    const Fingerprint salt = hash_matrix(matrix, all, find_kernels(""), ticker);
    const LiteralFingerprints fingerprints(matrix, all, problem.n_columns, salt, ticker);
    check_paths(distinct_literals(problem, fingerprints));
}

// A copy, a complement and a column that differs in one row.
void test_copies_and_complements() {
    Problem problem = noise(1000, 4);
    for (auto& row : problem.rows) {
        row[1] = row[0];
        row[2] = row[0] ^ 1;
        row[3] = row[0];
    }
    problem.rows[517][3] ^= 1;
    Monitor monitor({});
    Ticker ticker(monitor);
    BitMatrix matrix;
    Subset all;
    build_matrix(problem.data(), {}, find_kernels(""), ticker, matrix, all);
    const Fingerprint salt = hash_matrix(matrix, all, find_kernels(""), ticker);
    const LiteralFingerprints fingerprints(matrix, all, 4, salt, ticker);
    for (const bool side : {false, true}) {
        CHECK(fingerprints.of(0, side) == fingerprints.of(1, side));
        CHECK(fingerprints.of(0, side) == fingerprints.of(2, !side));
        CHECK(fingerprints.of(0, side) != fingerprints.of(3, side));
    }
    CHECK(fingerprints.of(0, false) != fingerprints.of(0, true));
}

// A column's fingerprints depend on the rest of the data.
void test_salt() {
    Problem problem = noise(1000, 4);
    const auto first_literal = [&] {
        Monitor monitor({});
        Ticker ticker(monitor);
        BitMatrix matrix;
        Subset all;
        build_matrix(problem.data(), {}, find_kernels(""), ticker, matrix, all);
        const Fingerprint salt = hash_matrix(matrix, all, find_kernels(""), ticker);
        return LiteralFingerprints(matrix, all, 4, salt, ticker).of(0, true);
    };
    const Fingerprint before = first_literal();
    CHECK(first_literal() == before);
    problem.rows[700][3] ^= 1;
    CHECK(first_literal() != before);
}

}  // namespace

int main() {
    test_copies_and_complements();
    test_salt();
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        Random random(seed);
        Problem problem = random_problem(random, random.between(1, random.pick<std::size_t>({5, 100, 700})),
                                         random.pick<std::size_t>({0, 1, 5, 16, 17, 20}), random.pick({1, 2, 5}));
        random_weights(random, random.pick<std::int64_t>({0, 0, 9}), 3, problem);
        test_problem(problem, random.pick({Arrange::never, Arrange::if_it_pays, Arrange::always}));
    }
    return check::report();
}
