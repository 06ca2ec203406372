// Random arguments for every function of topk.hpp, sensible and absurd: each call returns or throws
// std::invalid_argument.
//
// Run under the sanitizers (make fuzz), which see what goes wrong meanwhile. Usage: fuzz [seconds] [first seed]. A
// failed call is repeated with: fuzz 0 <seed>. The arrays have the sizes that the Python module gives them: spans that
// end before their data, so that a read beyond them is one beyond the memory.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/allocation.hpp"
#include "support/problems.hpp"
#include "support/random_options.hpp"
#include "topk/topk.hpp"

using namespace topk;

namespace {

std::uint64_t current_seed = 0;

[[noreturn]] void fail(const std::string& message) {
    std::cerr << "seed " << current_seed << ": " << message << std::endl;
    std::abort();
}

// A small size, or sometimes an absurd one.
std::size_t any_size(Random& random, std::size_t usual) {
    return random.chance(0.97) ? usual
                               : random.pick<std::size_t>({0, 1, 2, 63, 64, 65, std::size_t{1} << 24,
                                                           std::size_t{1} << 31, std::size_t{1} << 32, SIZE_MAX / 64,
                                                           SIZE_MAX / 8 + 1, SIZE_MAX - 1, SIZE_MAX});
}

std::int64_t any_integer(Random& random, std::int64_t usual) {
    return random.chance(0.97) ? usual
                               : random.pick<std::int64_t>({-1, 0, 1, 2, 1000, INT32_MAX, std::int64_t{1} << 53,
                                                            INT64_MIN, INT64_MAX, INT64_MAX - 1});
}

double any_number(Random& random) {
    return random.pick({0.0, -0.0, 0.5, 1.0, 2.0, -3.5, 1e300, -1e300, 5e-324, std::nan(""), HUGE_VAL, -HUGE_VAL});
}

// Replace some entries, shorten or lengthen the array.
template <class T>
void damage(Random& random, std::vector<T>& values) {
    if (random.chance(0.03)) {
        values.resize(random.below(2 * values.size() + 2));
    }
    while (!values.empty() && random.chance(0.05)) {
        const std::int64_t bad = any_integer(random, static_cast<std::int64_t>(random.bits()));
        values[random.below(values.size())] = static_cast<T>(bad);
    }
}

// Exact copies, so that nothing can be read beyond the last element.
template <class T>
std::vector<T> exact(const std::vector<T>& values) {
    return std::vector<T>(values.begin(), values.end());
}

struct Search {
    Problem problem;
    Data data;
    Options options;
    std::vector<std::int32_t> columns;
};

void random_search(Random& random, Search& search) {
    search.problem =
        random_problem(random, random.between(1, random.pick<std::size_t>({5, 60, 300})),
                       random.between(0, random.pick<std::size_t>({3, 10, 70})), random.pick({1, 2, 2, 3, 40}));
    random_weighting(random, search.problem);
    random_objective(random, search.problem, search.options);
    random_switches(random, search.options);
    Objective& objective = search.options.objective;
    objective.k.assign(random.below(5), static_cast<std::int32_t>(random.between(1, 4)));
    if (random.chance(0.1)) {
        objective.k.assign(random.below(3), INT32_MAX);
    }
    damage(random, search.problem.class_weight);
    damage(random, search.problem.row_weight);
    damage(random, search.problem.classes);
    damage(random, objective.k);
    damage(random, objective.draw.of_column);
    objective.draw.n_features = any_size(random, objective.draw.n_features);
    objective.draw.n_all = any_size(random, objective.draw.n_all);
    objective.min_rows = any_integer(random, objective.min_rows);
    objective.min_weight = any_integer(random, objective.min_weight);
    objective.cost_scale = any_integer(random, objective.cost_scale);
    objective.leaf_penalty = any_integer(random, objective.leaf_penalty);
    Tuning& tuning = search.options.tuning;
    tuning.threads = random.pick({1, 1, 1, 2, 3, 0, -1});
    tuning.known_cost = any_integer(random, random.chance(0.5) ? -1 : static_cast<std::int64_t>(random.below(50)));
    tuning.cache_bytes = any_size(random, tuning.cache_bytes);
    tuning.exact_root = random.chance(0.2);
    tuning.time_limit = random.chance(0.9) ? tuning.time_limit : any_number(random);
    Problem& problem = search.problem;
    const bool flags = random.chance(0.5);
    search.data = flags ? problem.flag_data() : problem.data();
    problem.packed = exact(problem.packed);
    problem.flags = exact(problem.flags);
    if (flags) {
        search.data.flags = problem.flags;
    } else {
        search.data.rows = problem.packed;
    }
    search.data.n_rows = any_size(random, search.data.n_rows);
    search.data.n_columns = any_size(random, search.data.n_columns);
    search.data.n_classes = static_cast<std::int32_t>(any_integer(random, search.data.n_classes));
    search.data.n_stored = any_size(random, search.data.n_stored);
    if (random.chance(0.1)) {
        for (std::size_t j = 0; j < problem.n_columns; ++j) {
            if (random.chance(0.7)) {
                search.columns.push_back(static_cast<std::int32_t>(j));
            }
        }
        search.data.n_stored = search.data.n_columns;
        damage(random, search.columns);
        search.data.columns = search.columns;
        search.data.n_columns = any_size(random, search.columns.size());
    }
}

void check_solution(const Solution& solution, const Data& data) {
    const std::size_t n = solution.column.size();
    if (n == 0 || solution.false_child.size() != n || solution.true_child.size() != n || solution.n_rows.size() != n ||
        solution.class_weight.size() != n * static_cast<std::size_t>(data.n_classes) || solution.cost < 0) {
        fail("a solution of other sizes");
    }
}

void fuzz_solve(Random& random) {
    Search search;
    random_search(random, search);
    check_solution(solve(search.data, search.options), search.data);
}

void fuzz_near_optimal(Random& random) {
    Search search;
    random_search(random, search);
    search.options.objective.k.resize(std::min<std::size_t>(search.options.objective.k.size(), 3));
    const NearOptimalRequest request = {random.below(30), random.chance(0.8) ? 0.1 : any_number(random),
                                        random.chance(0.5), random.chance(0.5)};
    for (const Solution& solution : near_optimal(search.data, search.options, request)) {
        check_solution(solution, search.data);
    }
}

void fuzz_walk(Random& random) {
    Problem problem = random_problem(random, random.between(1, 50), random.between(0, 70), 2);
    Data data = random.chance(0.5) ? problem.flag_data() : problem.data();
    data.n_columns = any_size(random, data.n_columns);
    std::vector<std::int32_t> column = {static_cast<std::int32_t>(random.below(problem.n_columns + 1)), -1, -1};
    std::vector<std::int32_t> false_child = {1, -1, -1};
    std::vector<std::int32_t> true_child = {2, -1, -1};
    damage(random, column);
    damage(random, false_child);
    damage(random, true_child);
    std::vector<std::int32_t> leaves(data.n_rows);
    walk(data, {column, false_child, true_child}, leaves.data());
}

void fuzz_shards(Random& random) {
    Problem problem = random_problem(random, random.between(1, 5000), random.between(0, 40), random.pick({1, 2, 5}));
    random_weights(random, random.pick<std::int64_t>({0, 0, 9, std::int64_t{1} << 40}), 1, problem);
    damage(random, problem.classes);
    damage(random, problem.row_weight);
    Data data = problem.data();
    const Kernels& kernels = find_kernels("");
    std::vector<std::uint64_t> shard = make_shard(data, any_size(random, random.below(5000)), kernels);
    while (random.chance(0.3)) {
        shard[random.below(std::min<std::size_t>(shard.size(), random.chance(0.7) ? 20 : SIZE_MAX))] =
            static_cast<std::uint64_t>(any_integer(random, static_cast<std::int64_t>(random.below(70))));
    }
    shard.resize(random.chance(0.9) ? shard.size() : random.below(shard.size() + 1));
    shard = exact(shard);
    std::vector<std::int32_t> depth = {0};
    for (std::size_t n = random.below(6); n > 0; --n) {
        depth.push_back(static_cast<std::int32_t>(random.between(1, static_cast<std::size_t>(depth.back()) + 1)));
    }
    std::vector<std::int32_t> column(depth.size());
    std::vector<std::uint8_t> side(depth.size());
    std::vector<std::int64_t> answers(depth.size());
    for (std::size_t i = 0; i < depth.size(); ++i) {
        column[i] = static_cast<std::int32_t>(random.below(problem.n_columns + 1));
        side[i] = random.chance(0.5) ? 1 : 0;
        answers[i] = static_cast<std::int64_t>(i);
    }
    damage(random, depth);
    damage(random, column);
    damage(random, answers);
    const ShardShape shape = {any_size(random, problem.n_columns), any_size(random, std::size_t(problem.n_classes))};
    const std::size_t n_answers = any_size(random, depth.size());
    const std::size_t n = n_counts(shape, n_answers);
    if (n > std::size_t{1} << 28) {
        throw std::bad_alloc();  // more than the caller's memory
    }
    std::vector<std::int64_t> counts(n);
    count_shard(shard, shape, {depth, column, side, answers}, n_answers, random.chance(0.5), kernels, counts.data());
}

void fuzz_rank_columns(Random& random) {
    const std::size_t n_nodes = random.below(4);
    const std::size_t n_classes = random.below(5);
    const std::size_t n_columns = random.below(40);
    std::vector<std::int64_t> totals(n_nodes * n_classes);
    std::vector<std::int64_t> counts(totals.size() * n_columns);
    const std::size_t most = random.pick<std::size_t>({1, 10, 100'000, std::size_t{1} << 45});
    std::int64_t weight = 0;
    for (std::size_t i = 0; i < totals.size(); ++i) {
        totals[i] = static_cast<std::int64_t>(random.below(most));
        weight += totals[i];
        for (std::size_t j = 0; j < n_columns; ++j) {
            counts[i * n_columns + j] =
                static_cast<std::int64_t>(random.below(static_cast<std::size_t>(totals[i]) + 1));
        }
    }
    std::vector<std::int64_t> limit(n_nodes, INT64_MAX);
    std::vector<std::uint8_t> usable(random.chance(0.5) ? n_nodes * n_columns : 0, 1);
    damage(random, totals);
    damage(random, counts);
    damage(random, limit);
    damage(random, usable);
    Objective objective;
    objective.criterion =
        random.pick({Criterion::entropy, Criterion::gini, Criterion::sqrt, Criterion::gain_ratio, Criterion::user});
    objective.min_weight = any_integer(random, 1);
    if (random.chance(0.5)) {
        objective.second_reading.assign(n_columns, 0);
        std::generate(objective.second_reading.begin(), objective.second_reading.end(),
                      [&] { return static_cast<std::int32_t>(random.below(3)); });
        damage(random, objective.second_reading);
    }
    std::vector<std::int64_t> k(n_nodes);
    std::generate(k.begin(), k.end(), [&] { return any_integer(random, static_cast<std::int64_t>(random.below(9))); });
    damage(random, k);
    rank_columns({n_nodes, n_classes, n_columns, counts, totals, usable}, objective, k, random.chance(0.5), limit,
                 any_integer(random, weight), find_kernels(""));
}

// The functions below have preconditions that the bindings check; only what they leave open is random.
void fuzz_tables(Random& random) {
    const std::size_t n_rows = random.below(70);
    const std::size_t n_features = random.below(5);
    std::vector<double> entries;
    std::vector<std::int64_t> offsets = {0};
    std::vector<std::int64_t> feature;
    std::vector<std::uint8_t> test;
    std::vector<std::uint8_t> or_missing;
    for (std::size_t g = n_features > 0 ? random.below(9) : 0; g > 0; --g) {
        for (std::size_t n = random.below(6); n > 0; --n) {
            entries.push_back(any_number(random));
        }
        offsets.push_back(static_cast<std::int64_t>(entries.size()));
        feature.push_back(static_cast<std::int64_t>(random.below(n_features)));
        test.push_back(static_cast<std::uint8_t>(random.below(3)));
        or_missing.push_back(random.chance(0.5) ? 1 : 0);
    }
    entries = exact(entries);
    std::vector<double> values(n_features * n_rows);
    std::generate(values.begin(), values.end(), [&] { return any_number(random); });
    const ColumnGroups columns = {entries, offsets, feature, test, or_missing};
    std::vector<std::uint64_t> packed(n_rows * ((columns.n_columns() + 63) / 64));
    pack_features(values.data(), n_rows, columns, packed.data());
    std::vector<std::uint64_t> hashes(2 * (columns.n_columns() + 1));
    hash_columns(values, n_rows, columns, find_kernels(""), hashes.data());
    const std::size_t n_columns = random.below(200);
    std::vector<std::uint8_t> flags(n_rows * n_columns);
    std::generate(flags.begin(), flags.end(),
                  [&] { return static_cast<std::uint8_t>(random.chance(0.9) ? 1 : random.bits()); });
    std::vector<std::uint64_t> rows(n_rows * ((n_columns + 63) / 64));
    for (const Kernels* kernels : available_kernels()) {
        for (std::size_t i = 0; i < n_rows; ++i) {
            kernels->pack_flags(flags.data() + i * n_columns, n_columns, rows.data() + i * ((n_columns + 63) / 64));
        }
    }
}

void fuzz_boundaries(Random& random) {
    const std::size_t n = random.below(100);
    const std::size_t n_classes = any_size(random, random.below(4));
    std::vector<double> values(n);
    std::generate(values.begin(), values.end(), [&] { return any_number(random); });
    std::vector<double> edges(random.below(10));
    std::generate(edges.begin(), edges.end(), [&] { return any_number(random); });
    std::vector<std::int32_t> classes(n);
    std::generate(classes.begin(), classes.end(), [&] {
        return static_cast<std::int32_t>(random.below(std::max<std::size_t>(std::min<std::size_t>(n_classes, 9), 1)));
    });
    std::vector<double> weights(random.chance(0.5) ? n : 0);
    std::generate(weights.begin(), weights.end(), [&] { return any_number(random); });
    damage(random, classes);
    damage(random, weights);
    std::vector<double> cells = class_cells(values, edges, classes, n_classes, weights);
    if (cells.size() != (edges.size() + 1) * n_classes) {
        fail("class_cells");
    }
    damage(random, cells);
    split_order(cells, any_size(random, n_classes), any_size(random, random.below(20)));
}

void fuzz_ranks(Random& random) {
    std::vector<double> values(random.chance(0.9) ? random.below(700) : random.below(5000));
    const double shared = any_number(random);
    const double steps = random.pick({0.0, 1e-16, 1e-9, 1.0});
    std::generate(values.begin(), values.end(), [&] {
        return random.chance(0.5) ? any_number(random) : shared + steps * static_cast<double>(random.below(1000));
    });
    std::vector<std::uint32_t> ranks(values.size());
    const Ranks found = Ranker().rank(values.data(), values.size(), 1, ranks.data());
    std::vector<double> distinct;
    for (double& value : values) {
        value = std::clamp(value, -std::numeric_limits<double>::max(), std::numeric_limits<double>::max());
        if (!std::isnan(value)) {
            distinct.push_back(value);
        }
    }
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    bool is_good = found.n == distinct.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
        is_good = is_good && (std::isnan(values[i]) ? ranks[i] == OrderedGroup::kMissing
                                                    : ranks[i] < found.n && distinct[ranks[i]] == values[i]);
    }
    if (!is_good) {
        fail("Ranker");
    }
}

bool run(std::uint64_t seed) {
    current_seed = seed;
    Random random(seed);
    const std::vector<std::function<void(Random&)>> functions = {fuzz_solve,      fuzz_near_optimal, fuzz_walk,
                                                                 fuzz_shards,     fuzz_rank_columns, fuzz_tables,
                                                                 fuzz_boundaries, fuzz_ranks};
    try {
        functions[seed % functions.size()](random);
        return true;
    } catch (const std::invalid_argument&) {
    } catch (const std::length_error&) {
    } catch (const std::bad_alloc&) {
    } catch (const std::exception& error) {
        fail(error.what());
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::stod(argv[1]) : 1;
    const std::uint64_t first = argc > 2 ? std::stoull(argv[2]) : 0;
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t n = 0;
    std::uint64_t n_returned = 0;
    do {
        n_returned += run(first + n) ? 1U : 0U;
        ++n;
    } while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds);
    std::cout << n << " calls, " << n_returned << " returned, the others refused their arguments" << std::endl;
    return n_returned > 0 || seconds == 0 ? 0 : 1;
}
