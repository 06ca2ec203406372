// Refined trees: what they cost, that they keep to the limits, and that nothing is left to improve.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "support/check.hpp"
#include "support/ordered.hpp"
#include "support/random_options.hpp"
#include "support/reference.hpp"
#include "topk/search/refinement.hpp"

using namespace topk;

namespace {

// A tree against the rows, one by one.
class Check : public Reference {
  public:
    // `options`: all columns are candidates.
    Check(const Problem& problem, const Options& options, int bottom)
        : Reference(problem, options), bottom_(static_cast<std::size_t>(bottom)) {}

    std::int64_t best_cost() const { return best(all_rows(), 0).cost; }
    // Return what the tree costs if it is valid and its bottom subtrees are the best, else nothing.
    std::optional<std::int64_t> cost(const TreeNode& tree) const { return cost(tree, all_rows(), 0); }

  private:
    std::vector<std::size_t> all_rows() const {
        std::vector<std::size_t> rows(problem_.rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i] = i;
        }
        return rows;
    }

    std::optional<std::int64_t> cost(const TreeNode& tree, const std::vector<std::size_t>& rows,
                                     std::size_t level) const {
        std::optional<std::int64_t> sum = leaf(rows).cost;
        if (tree.column != kLeaf) {
            std::vector<std::size_t> sides[2];
            for (const std::size_t i : rows) {
                sides[problem_.rows[i][static_cast<std::size_t>(tree.column)]].push_back(i);
            }
            sum = 0;
            for (int side = 0; side < 2; ++side) {
                const auto below =
                    is_side(sides[side]) ? cost(*tree.child[side], sides[side], level + 1) : std::nullopt;
                sum = sum && below ? std::optional(*sum + *below) : std::nullopt;
            }
        }
        const bool is_bottom = level + bottom_ == options_.objective.k.size();
        const bool is_valid = level <= options_.objective.k.size() && sum == tree.cost &&
                              tree.n_rows == static_cast<std::int64_t>(rows.size()) &&
                              (!is_bottom || best(rows, level).cost == tree.cost);
        return is_valid ? sum : std::nullopt;
    }

    bool is_side(const std::vector<std::size_t>& rows) const {
        std::int64_t weight = 0;
        for (const std::size_t i : rows) {
            weight += problem_.weight(i);
        }
        return static_cast<std::int64_t>(rows.size()) >= options_.objective.min_rows &&
               weight >= options_.objective.min_weight;
    }

    const std::size_t bottom_;
};

template <class Count>
std::unique_ptr<TreeNode> refined(const Data& data, const Options& options, std::int32_t k, int bottom,
                                  std::int64_t total, std::int64_t& before) {
    NodeSearch<Count> nodes(data, options, find_kernels(options.tuning.kernel), total, Purpose::best_tree);
    TreeReader<Count> reader(nodes);
    const auto space = nodes.context().make_space();
    nodes.build_root(*space);
    nodes.begin_pass(*space, k);
    auto tree = reader.read_tree(*space, 0, nodes.root(), kInfinity);
    before = tree->cost;
    nodes.begin_pass(*space, 1, bottom);
    Refinement<Count> refinement(nodes, reader, bottom);
    refinement.improve(*space, 32, tree);
    const std::int64_t after = tree->cost;
    refinement.improve(*space, 32, tree);
    CHECK(tree->cost == after);
    return tree;
}

void test_random_problem(std::uint64_t seed) {
    Random random(seed);
    OrderedProblem problem = random_ordered(random, random.between(2, 80), random.between(1, 4),
                                            random.pick<std::size_t>({3, 12}), random.pick({2, 2, 3, 5}));
    random_weighting(random, problem.expanded);
    problem.bits.row_weight = problem.expanded.row_weight;
    problem.bits.class_weight = problem.expanded.class_weight;
    Options options;
    options.objective.k.assign(random.between(2, 3), INT32_MAX);
    random_objective(random, problem.expanded, options);
    options.objective.criterion = random.pick({Criterion::entropy, Criterion::gini});
    options.objective.second_reading = problem.second;
    options.objective.draw = {};
    const int height = static_cast<int>(options.objective.k.size());
    const int bottom = static_cast<int>(random.between(1, static_cast<std::size_t>(height) - 1));
    const auto k = static_cast<std::int32_t>(random.between(1, 3));
    const std::int64_t total = problem.expanded.total_weight();
    const Check check(problem.expanded, options, bottom);
    const std::int64_t lowest = check.best_cost();
    std::optional<Solution> first;
    const bool as_groups = random.chance(0.5);
    const Data data = as_groups ? problem.data() : problem.expanded.data();
    for (int i = 0; i < 3; ++i) {
        random_switches(random, options);
        const Options own = as_groups ? problem.for_groups(options) : options;
        std::int64_t before = 0;
        const auto tree = total < INT32_MAX ? refined<std::int32_t>(data, own, k, bottom, total, before)
                                            : refined<std::int64_t>(data, own, k, bottom, total, before);
        CHECK(tree->cost <= before && tree->cost >= lowest, describe(seed, problem.expanded, options));
        CHECK(check.cost(*tree) == tree->cost,
              "bottom " << bottom << ", " << describe(seed, problem.expanded, options));
        const Solution solution = flatten(*tree, static_cast<std::size_t>(problem.expanded.n_classes));
        first = first ? first : solution;
        CHECK(same_tree(solution, *first), describe(seed, problem.expanded, options));
    }
}

// A parity of two columns: no single split helps, so that k = 1 finds a leaf.
void test_parity() {
    Problem problem;
    problem.n_columns = 3;
    problem.n_classes = 2;
    problem.class_weight = {1, 1};
    for (std::uint8_t i = 0; i < 64; ++i) {
        const std::uint8_t bits[3] = {static_cast<std::uint8_t>(i & 1), static_cast<std::uint8_t>(i >> 1 & 1),
                                      static_cast<std::uint8_t>(i >> 2 & 1)};
        problem.rows.push_back({bits[0], bits[1], bits[2]});
        problem.classes.push_back(bits[0] ^ bits[1] ^ bits[2]);
    }
    Options options;
    options.objective.k.assign(3, INT32_MAX);
    std::int64_t before = 0;
    const auto tree = refined<std::int32_t>(problem.data(), options, 1, 2, 64, before);
    CHECK(tree->cost == 0);
}

}  // namespace

int main() {
    for (std::uint64_t seed = 0; seed < check::problems(3000); ++seed) {
        test_random_problem(seed);
    }
    test_parity();
    return check::report();
}
