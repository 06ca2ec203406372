// A plan for the levels of a search: how many candidates each of them tries, and which shortcuts are valid there.
//
// A search widens k in passes, so the plan is made anew for every pass. Levels are counted from the root, 0; the height
// of a level is the number of splits that a path may still have, that level's included.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "topk/base/costs.hpp"
#include "topk/base/types.hpp"
#include "topk/candidates/last_level.hpp"

namespace topk {

class LevelPlan {
  public:
    // `counts_all`: all columns of a node are counted, which thresholds of ordered groups are not.
    LevelPlan(const Options& options, SideLimits limits, std::size_t n_columns, bool counts_all)
        : options_(options),
          limits_(limits),
          n_columns_(n_columns),
          counts_all_(counts_all),
          levels_(options.objective.k.size()) {
        narrow_to(widest());
        pass_k_ = 1;  // no pass has begun
    }

    // Plan for a pass with at most k candidates per level, not counting those that a lookahead adds at the bottom. On
    // the last `tail` levels, all columns are candidates, and above them there is no lookahead.
    void narrow_to(std::int32_t k, int tail = 0) {
        pass_k_ = k;
        const auto n_looked_at = static_cast<std::size_t>(options_.objective.lookahead);
        n_looked_at_ = tail > 0 ? 0 : std::min(n_looked_at, n_columns_);
        bool all_below = true;  // do all levels below try all columns?
        double tries_below = 1;
        for (std::size_t level = levels_.size(); level-- > 0;) {
            const int height_here = static_cast<int>(levels_.size() - level);
            Level& here = levels_[level];
            const auto own = static_cast<std::size_t>(std::min(options_.objective.k[level], k));
            here.k = height_here <= tail ? n_columns_ : std::max(own, least_k(height_here));
            here.listed = std::max(here.k, n_looked_at_);
            const bool draws = options_.objective.draw.n_features > 0;
            here.all_columns = here.k >= n_columns_ && !draws;
            here.lists_all = here.listed >= n_columns_ && !draws;
            here.is_optimal = all_below && here.all_columns;
            here.bounds_sides = bounds_are_valid() && ((all_below && !limits_.track_rows) || height_here == 2);
            here.shallow_first = here.all_columns && here.bounds_sides && !limits_.track_rows &&
                                 n_columns_ >= options_.tuning.shallow_first_columns;
            here.tries_below = tries_below;
            if (height_here > 1) {
                tries_below *= static_cast<double>(std::min(here.k, n_columns_));
                tries_below += tries_to_look_ahead(here, height_here);
            }
            all_below = all_below && here.all_columns;
        }
    }

    int height(int level) const { return static_cast<int>(levels_.size()) - level; }
    std::size_t k(int level) const { return at(level).k; }
    // Return how many columns with the best scores are listed: the candidates, or those that a lookahead chooses from.
    std::size_t listed(int level) const { return at(level).listed; }
    // Is every column that can split a node listed?
    bool lists_all(int level) const { return at(level).lists_all; }
    // Are the candidates chosen by a lookahead?
    bool looks_ahead(int level) const { return at(level).k < at(level).listed; }
    // Does the search look ahead on some level?
    bool looks_ahead() const {
        return std::any_of(levels_.begin(), levels_.end(), [](const Level& level) { return level.k < level.listed; });
    }
    // Return the effort of a lookahead, in candidates with two levels left.
    double tries_to_look_ahead(int level) const { return tries_to_look_ahead(at(level), height(level)); }
    // Is every column that can split a node a candidate?
    bool all_columns(int level) const { return at(level).all_columns; }
    // Is every column a candidate at this level and at all levels below?
    bool is_optimal(int level) const { return at(level).is_optimal; }
    // May the cost of a tried split bound other splits (side_bounds.hpp)? Only if it is a minimum over all columns.
    // Costs with one level left below the split always are: there, the fewest errors over all columns are known.
    bool bounds_sides(int level) const { return at(level).bounds_sides; }
    // Is a tree of one level less searched for first? No deeper tree costs more, and a split that leaves nearly all
    // rows on one side can be only a little better. Valid where trees of both heights are minima over all columns.
    bool shallow_first(int level) const { return at(level).shallow_first; }
    // Return a bound for what a minimum per side adds to the cost of the best tree of this height, over all columns
    // (cpp/README.md has the lemma). Precondition: height > 0.
    std::int64_t cost_of_minimum(int height) const {
        const double cost = static_cast<double>(limits_.too_little) *
                            static_cast<double>(options_.objective.cost_scale) * std::ldexp(1.0, height - 1);
        return cost < 0x1p53 ? static_cast<std::int64_t>(cost) : kInfinity;
    }
    // Return the number of candidates with two levels left on one side of a candidate of this level, if none is pruned.
    double tries_below(int level) const { return at(level).tries_below; }

    std::int32_t pass_k() const { return pass_k_; }
    // The largest k asked for.
    std::int32_t widest() const {
        const std::vector<std::int32_t>& k = options_.objective.k;
        return k.empty() ? 1 : *std::max_element(k.begin(), k.end());
    }
    bool is_last_pass() const { return pass_k_ >= widest(); }
    bool is_greedy() const {
        return options_.objective.lookahead <= 1 &&
               std::all_of(levels_.begin(), levels_.end(), [](const Level& level) { return level.k == 1; });
    }

  private:
    struct Level {
        std::size_t k = 0;
        std::size_t listed = 0;
        bool all_columns = false;
        bool lists_all = false;
        bool is_optimal = false;
        bool bounds_sides = false;
        bool shallow_first = false;
        double tries_below = 1;
    };

    // Return how many candidates a lookahead adds at the bottom, where greedy trees are as good as any.
    std::size_t least_k(int height) const {
        return height > 2 || n_looked_at_ == 0 ? 0 : height == 2 ? n_looked_at_ : n_columns_;
    }
    double tries_to_look_ahead(const Level& level, int height) const {
        return level.k < level.listed ? static_cast<double>(std::min(level.listed, n_columns_)) * (height - 2) : 0;
    }
    const Level& at(int level) const { return levels_[static_cast<std::size_t>(level)]; }

    // Thresholds of ordered groups are not all counted, so that no minimum over all of them is known.
    bool bounds_are_valid() const { return options_.tuning.use_bounds && counts_all_; }

    const Options& options_;
    const SideLimits limits_;
    const std::size_t n_columns_;
    const bool counts_all_;
    std::vector<Level> levels_;
    std::int32_t pass_k_ = 1;
    std::size_t n_looked_at_ = 0;  // columns that a lookahead of this pass looks at
};

}  // namespace topk
