// Random weights, objectives and switches for the problems of problems.hpp, and their description.
#pragma once

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/problems.hpp"
#include "topk/base/types.hpp"
#include "topk/kernels/kernels.hpp"

// A criterion with many ties that scores a complement differently: heaviest classes, the true side counted twice.
inline std::vector<double> user_score(const std::vector<double>& left, const std::vector<double>& right,
                                      const std::vector<bool>& admissible) {
    const std::size_t n_classes = left.size() / std::max<std::size_t>(admissible.size(), 1);
    std::vector<double> scores;
    for (std::size_t j = 0; j < admissible.size(); ++j) {
        const auto heaviest = [&](const std::vector<double>& side) {
            const auto begin = side.begin() + static_cast<std::ptrdiff_t>(j * n_classes);
            return *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(n_classes));
        };
        scores.push_back(heaviest(left) + 2 * heaviest(right));
    }
    return scores;
}

// From a total of 2^31 - 1 on, counts have 64 bits.
inline void random_weighting(Random& random, Problem& problem) {
    using Limits = std::pair<std::int64_t, std::int64_t>;
    constexpr std::int64_t kLarge = std::int64_t{1} << 30;
    const auto [row, of_class] = random.pick<Limits>({{0, 1}, {0, 1}, {0, 1}, {0, 4}, {8, 1}, {8, 4}, {kLarge, 1000}});
    random_weights(random, row, of_class, problem);
    if (row > 0 && of_class == 1) {
        problem.row_weight[0] += INT32_MAX - problem.total_weight() + random.pick({-1, 0, 1});
    }
}

// Features of a few columns each, some of which are drawn at every node; or no draw.
inline void random_draw(Random& random, std::size_t n_columns, topk::FeatureDraw& draw) {
    if (n_columns == 0 || random.chance(0.7)) {
        return;
    }
    draw.n_features = random.between(1, 3);
    draw.seed = random.bits();
    for (std::size_t j = 0; j < n_columns; ++j) {
        draw.n_all += draw.n_all == 0 || random.chance(0.6) ? 1U : 0U;
        draw.of_column.push_back(static_cast<std::int32_t>(draw.n_all - 1));
    }
}

// Some pairs of columns, of one feature each, are two readings of a test.
inline void random_readings(Random& random, std::size_t n_columns, topk::Objective& objective) {
    if (random.chance(0.5)) {
        return;
    }
    objective.second_reading.assign(n_columns, 0);
    std::vector<bool> taken(n_columns, false);
    for (std::size_t first = 0; first < n_columns; ++first) {
        const std::size_t second = first + 1 + random.below(3);
        const std::vector<std::int32_t>& feature = objective.draw.of_column;
        if (second < n_columns && !taken[first] && !taken[second] &&
            (feature.empty() || feature[first] == feature[second])) {
            objective.second_reading[first] = static_cast<std::int32_t>(second - first);
            taken[first] = taken[second] = true;
        }
    }
}

inline void random_objective(Random& random, const Problem& problem, topk::Options& options) {
    options.objective.criterion =
        random.pick({topk::Criterion::entropy, topk::Criterion::entropy, topk::Criterion::gini, topk::Criterion::sqrt,
                     topk::Criterion::gain_ratio, topk::Criterion::user});
    options.objective.user_score = user_score;
    options.objective.user_weight_unit = random.pick({1.0, 0.25});
    options.objective.min_rows = random.chance(0.7) ? 1 : random.pick({2, 5, 1000});
    const std::int64_t total = problem.total_weight();
    options.objective.min_weight = random.chance(0.8) ? 1 : random.pick({1 + total / 30, 1 + total / 5, total + 1});
    options.objective.distinct_splits = random.chance(0.5);
    random_draw(random, problem.n_columns, options.objective.draw);
    random_readings(random, problem.n_columns, options.objective);
    if (options.objective.draw.n_features == 0 && random.chance(0.35)) {
        options.objective.lookahead = random.pick({2, 3, 5, 12, INT32_MAX});
    }
    using Costs = std::pair<std::int64_t, std::int64_t>;
    std::tie(options.objective.cost_scale, options.objective.leaf_penalty) =
        random.pick<Costs>({{1, 0}, {1, 0}, {1, 0}, {1000, 1}, {1, 1 + total / 100}, {3, total / 20}});
}

inline void random_switches(Random& random, topk::Options& options) {
    const auto& kernels = topk::available_kernels();
    options.tuning.kernel = kernels[random.below(kernels.size())]->name;
    options.tuning.threads = random.pick({1, 1, 2, 3, 4});
    options.tuning.use_cache = random.chance(0.7);
    options.tuning.use_bounds = random.chance(0.7);
    options.tuning.cache_bytes = random.pick<std::size_t>({0, 10'000, 40'000, 1 << 20});
    options.tuning.arrange =
        random.pick({topk::Arrange::never, topk::Arrange::if_it_pays, topk::Arrange::always, topk::Arrange::always});
    options.tuning.max_fingerprinted_rows = random.chance(0.3) ? 0 : SIZE_MAX;
    options.tuning.large_node_bytes = random.chance(0.3) ? 0 : SIZE_MAX;
    options.tuning.passes_to_compact = random.pick({0.0, 0.0, 12.0, 1e9});
    options.tuning.draw_first_columns = random.chance(0.7) ? 0 : SIZE_MAX;
    options.tuning.shallow_first_columns = random.chance(0.6) ? 0 : SIZE_MAX;
    options.tuning.few_thresholds = random.pick<std::size_t>({0, 0, 12, SIZE_MAX});
    options.tuning.threads_after = 0;
    options.tuning.task_cycles = random.pick({0.0, 0.0, 1000.0, 100'000.0});
    options.tuning.time_limit = random.chance(0.3) ? 3600.0 : 0.0;
}

inline std::string describe(std::uint64_t seed, const Problem& problem, const topk::Options& options) {
    std::ostringstream out;
    out << "seed " << seed << ", " << problem.rows.size() << " rows, " << problem.n_columns << " columns, k =";
    for (const std::int32_t k : options.objective.k) {
        out << ' ' << k;
    }
    out << ", criterion " << static_cast<int>(options.objective.criterion) << ", weight " << problem.total_weight()
        << ", min_rows " << options.objective.min_rows << ", min_weight " << options.objective.min_weight
        << ", lookahead " << options.objective.lookahead << ", penalty " << options.objective.leaf_penalty
        << ", distinct " << options.objective.distinct_splits
        << (options.objective.second_reading.empty() ? "" : ", two readings") << ", drawn "
        << options.objective.draw.n_features << (options.tuning.draw_first_columns == 0 ? " first" : " last")
        << ", kernel " << options.tuning.kernel << ", threads " << options.tuning.threads << ", cache "
        << options.tuning.use_cache << ' ' << options.tuning.cache_bytes << ", arrange "
        << static_cast<int>(options.tuning.arrange) << ", fingerprinted rows " << options.tuning.max_fingerprinted_rows
        << ", bounds " << options.tuning.use_bounds
        << (options.tuning.shallow_first_columns == 0 ? ", shallow first" : "") << ", few thresholds "
        << options.tuning.few_thresholds << ", task cycles " << options.tuning.task_cycles << ", time limit "
        << options.tuning.time_limit;
    return out.str();
}
