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

// Errors, with the true side counted twice: many ties, and a complement does not score the same.
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

// Features of a few columns each, of which some are drawn at every node; or none.
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

inline void random_objective(Random& random, const Problem& problem, topk::Options& options) {
    options.criterion = random.pick({topk::Criterion::entropy, topk::Criterion::entropy, topk::Criterion::gini,
                                     topk::Criterion::sqrt, topk::Criterion::gain_ratio, topk::Criterion::user});
    options.user_score = user_score;
    options.user_weight_unit = random.pick({1.0, 0.25});
    options.min_rows = random.chance(0.7) ? 1 : random.pick({2, 5, 1000});
    const std::int64_t total = problem.total_weight();
    options.min_weight = random.chance(0.8) ? 1 : random.pick({1 + total / 30, 1 + total / 5, total + 1});
    options.distinct_splits = random.chance(0.5);
    random_draw(random, problem.n_columns, options.draw);
    using Costs = std::pair<std::int64_t, std::int64_t>;
    std::tie(options.cost_scale, options.leaf_penalty) =
        random.pick<Costs>({{1, 0}, {1, 0}, {1, 0}, {1000, 1}, {1, 1 + total / 100}, {3, total / 20}});
}

inline void random_switches(Random& random, topk::Options& options) {
    const auto& kernels = topk::available_kernels();
    options.kernel = kernels[random.below(kernels.size())]->name;
    options.threads = random.pick({1, 1, 2, 3, 4});
    options.use_cache = random.chance(0.7);
    options.use_bounds = random.chance(0.7);
    options.cache_bytes = random.pick<std::size_t>({0, 10'000, 40'000, 1 << 20});
    options.arrange =
        random.pick({topk::Arrange::never, topk::Arrange::if_it_pays, topk::Arrange::always, topk::Arrange::always});
    options.max_keyed_rows = random.chance(0.3) ? 0 : SIZE_MAX;
    options.large_node_bytes = random.chance(0.3) ? 0 : SIZE_MAX;
    options.many_columns = random.chance(0.7) ? 0 : SIZE_MAX;
    options.threads_after = 0;
    options.time_limit = random.chance(0.3) ? 3600.0 : 0.0;
}

inline std::string describe(std::uint64_t seed, const Problem& problem, const topk::Options& options) {
    std::ostringstream out;
    out << "seed " << seed << ", " << problem.rows.size() << " rows, " << problem.n_columns << " columns, k =";
    for (const std::int32_t k : options.k) {
        out << ' ' << k;
    }
    out << ", criterion " << static_cast<int>(options.criterion) << ", weight " << problem.total_weight()
        << ", min_rows " << options.min_rows << ", min_weight " << options.min_weight << ", penalty "
        << options.leaf_penalty << ", distinct " << options.distinct_splits << ", drawn " << options.draw.n_features
        << (options.many_columns == 0 ? " first" : " last") << ", kernel " << options.kernel << ", threads "
        << options.threads << ", cache " << options.use_cache << ' ' << options.cache_bytes << ", arrange "
        << static_cast<int>(options.arrange) << ", keyed " << options.max_keyed_rows << ", bounds "
        << options.use_bounds << ", time limit " << options.time_limit;
    return out.str();
}
