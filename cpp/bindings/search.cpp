// Searches: arguments to Data and Options, solutions to dicts of arrays.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>
#include <tuple>

#include "arrays.hpp"

namespace bindings {
namespace {

// Return a function that calls user_score(left, right, admissible) with the GIL held; counts are (n_columns,
// n_classes).
topk::ScoreFunction wrap_score(const nb::object& user_score, std::size_t n_columns, std::size_t n_classes) {
    return [user_score, n_columns, n_classes](const std::vector<double>& left, const std::vector<double>& right,
                                              const std::vector<bool>& admissible) {
        const nb::gil_scoped_acquire gil;
        const std::vector<std::size_t> shape = {n_columns, n_classes};
        const std::vector<std::uint8_t> flags(admissible.begin(), admissible.end());
        const nb::object scores =
            user_score(to_numpy(std::vector<double>(left), shape), to_numpy(std::vector<double>(right), shape),
                       to_numpy(std::vector<std::uint8_t>(flags)));
        const auto array = nb::cast<Array<double, 1>>(scores);
        return std::vector<double>(array.data(), array.data() + array.size());
    };
}

// Return a function that lets Python handle signals (Ctrl-C) and reports progress.
std::function<void(const topk::Progress&)> wrap_poll(const nb::object& progress) {
    return [progress](const topk::Progress& p) {
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) {
            throw nb::python_error();
        }
        if (!progress.is_none()) {
            progress(p.seconds, p.k, p.nodes, p.cost);
        }
    };
}

nb::list to_list(const std::vector<topk::Step>& trace) {
    nb::list steps;
    for (const topk::Step& step : trace) {
        steps.append(nb::make_tuple(step.seconds, step.k, step.cost));
    }
    return steps;
}

nb::dict to_dict(topk::RootChoices&& root, std::size_t n_classes) {
    const std::size_t n_weighed = std::min(root.column.size(), topk::RootChoices::kWeighed);
    nb::dict result;
    result["n_candidates"] = root.n_candidates;
    result["column"] = to_numpy(std::move(root.column));
    result["cost"] = to_numpy(std::move(root.cost));
    result["exact"] = to_numpy(std::move(root.exact));
    result["greedy_cost"] = to_numpy(std::move(root.greedy_cost));
    result["true_weight"] = to_numpy(std::move(root.true_weight), {n_weighed, n_classes});
    return result;
}

nb::dict to_dict(topk::Solution&& solution, std::size_t n_classes) {
    const std::size_t n_nodes = solution.column.size();
    topk::Statistics& s = solution.statistics;
    nb::dict statistics;
    statistics["seconds"] = s.seconds;
    statistics["nodes"] = s.nodes;
    statistics["pruned"] = s.pruned;
    statistics["cache_hits"] = s.cache_hits;
    statistics["cache_bytes"] = s.cache_bytes;
    statistics["k_reached"] = s.k_reached;
    statistics["n_threads"] = s.threads;
    statistics["kernel"] = s.kernel;
    statistics["trace"] = to_list(s.trace);
    statistics["root"] = to_dict(std::move(s.root), n_classes);
    nb::dict result;
    result["column"] = to_numpy(std::move(solution.column));
    result["false_child"] = to_numpy(std::move(solution.false_child));
    result["true_child"] = to_numpy(std::move(solution.true_child));
    result["n_rows"] = to_numpy(std::move(solution.n_rows));
    result["class_weight"] = to_numpy(std::move(solution.class_weight), {n_nodes, n_classes});
    result["node_wrong"] = to_numpy(std::move(solution.node_wrong));
    result["cost"] = solution.cost;
    result["n_wrong"] = solution.n_wrong;
    result["complete"] = solution.complete;
    result["statistics"] = statistics;
    return result;
}

// Return a function that shows Python a tree on the way to the best one.
std::function<void(const topk::Solution&)> wrap_on_tree(const nb::object& on_tree, std::size_t n_classes) {
    return [on_tree, n_classes](const topk::Solution& solution) {
        const nb::gil_scoped_acquire gil;
        on_tree(to_dict(topk::Solution(solution), n_classes));
    };
}

topk::Arrange parse_arrange(const std::string& name) {
    if (name == "never") return topk::Arrange::never;
    if (name == "if_it_pays") return topk::Arrange::if_it_pays;
    if (name == "always") return topk::Arrange::always;
    throw std::invalid_argument("arrange must be never, if_it_pays or always, got " + name);
}

// An ordered group: its ranks, the index of its first column, the number of ranks, whether there are missing values,
// and its feature.
using Group = std::tuple<Array<std::uint32_t, 1>, std::size_t, std::uint32_t, bool, std::int32_t>;

// Views of the groups, which must not overlap.
std::vector<topk::OrderedGroup> ordered_groups(const std::vector<Group>& groups, std::size_t n_rows) {
    std::vector<topk::OrderedGroup> result;
    std::size_t end = 0;
    for (const auto& [ranks, first, n_ranks, has_missing, feature] : groups) {
        if (ranks.size() != n_rows || first < end || n_ranks == 0 || feature < 0) {
            throw std::invalid_argument(
                "every group must have a rank per row, its first column after those of the group before, at least one "
                "rank and a feature");
        }
        result.push_back({view(ranks), first, n_ranks, has_missing, feature});
        end = first + result.back().n_columns();
    }
    if (end > INT32_MAX) {
        throw std::invalid_argument("X must have fewer than 2^31 columns, all thresholds included");
    }
    return result;
}

// The arguments of a search: views of the caller's arrays, which must outlive it.
struct Problem {
    topk::Data data;
    std::vector<topk::OrderedGroup> groups;  // those of `data`
    topk::Options options;
    std::size_t n_classes() const { return data.class_weight.size(); }
};

Problem make_problem(const Rows& rows, std::size_t n_columns, const Array<std::int32_t, 1>& classes,
                     const std::optional<Array<std::int32_t, 1>>& columns, const std::vector<Group>& groups,
                     const std::optional<Array<std::int64_t, 1>>& row_weight,
                     const Array<std::int64_t, 1>& class_weight, std::vector<std::int32_t> k,
                     const std::string& criterion, const nb::object& user_score, double weight_unit,
                     const std::optional<Array<std::int32_t, 1>>& feature_of_column, std::size_t n_features,
                     std::size_t features_per_node, std::uint64_t draw_seed, std::int64_t min_rows,
                     std::int64_t min_weight, bool distinct_splits, std::int32_t lookahead, bool refine,
                     const std::optional<Array<std::int32_t, 1>>& second_reading, std::int64_t cost_scale,
                     std::int64_t leaf_penalty, int threads, bool use_cache, bool use_bounds, std::size_t cache_bytes,
                     const std::string& arrange, std::size_t max_fingerprinted_rows, std::size_t large_node_bytes,
                     std::size_t draw_first_columns, std::size_t shallow_first_columns, std::size_t few_thresholds,
                     double threads_after, double task_cycles, std::string kernel, double time_limit,
                     std::int64_t known_cost, bool exact_root, const nb::object& progress, const nb::object& on_tree) {
    Problem problem;
    topk::Data& data = problem.data;
    set_rows(rows, n_columns, data);
    if (columns) {
        data.columns = view(*columns);
        data.n_columns = columns->size();
    }
    problem.groups = ordered_groups(groups, data.n_rows);
    data.groups = problem.groups;  // they stay where they are when the problem is moved
    data.classes = view(classes);
    data.n_classes = static_cast<std::int32_t>(class_weight.size());
    if (row_weight) {
        data.row_weight = view(*row_weight);
    }
    data.class_weight = view(class_weight);
    topk::Objective& objective = problem.options.objective;
    objective.k = std::move(k);
    objective.criterion = parse_criterion(criterion);
    if (objective.criterion == topk::Criterion::user) {
        if (!groups.empty()) {
            throw std::invalid_argument("criterion must not be a function if there are ordered groups");
        }
        objective.user_score = wrap_score(user_score, data.n_columns, class_weight.size());
    }
    objective.user_weight_unit = weight_unit;
    objective.min_rows = min_rows;
    objective.min_weight = min_weight;
    objective.distinct_splits = distinct_splits;
    objective.lookahead = lookahead;
    objective.refine = refine;
    if (second_reading) {
        const auto offsets = view(*second_reading);
        objective.second_reading.assign(offsets.begin(), offsets.end());
    }
    if (feature_of_column) {
        const auto features = view(*feature_of_column);
        objective.draw = {features_per_node, n_features, {features.begin(), features.end()}, draw_seed};
    }
    objective.cost_scale = cost_scale;
    objective.leaf_penalty = leaf_penalty;
    problem.options.tuning = {.threads = threads,
                              .threads_after = threads_after,
                              .task_cycles = task_cycles,
                              .use_cache = use_cache,
                              .use_bounds = use_bounds,
                              .cache_bytes = cache_bytes,
                              .arrange = parse_arrange(arrange),
                              .max_fingerprinted_rows = max_fingerprinted_rows,
                              .large_node_bytes = large_node_bytes,
                              .draw_first_columns = draw_first_columns,
                              .shallow_first_columns = shallow_first_columns,
                              .few_thresholds = few_thresholds,
                              .kernel = std::move(kernel),
                              .time_limit = time_limit,
                              .known_cost = known_cost,
                              .exact_root = exact_root};
    problem.options.callbacks.poll = wrap_poll(progress);
    if (!on_tree.is_none()) {
        problem.options.callbacks.on_tree = wrap_on_tree(on_tree, class_weight.size());
    }
    return problem;
}

nb::dict solve(const Problem& problem) {
    topk::Solution solution;
    {
        const nb::gil_scoped_release no_gil;
        solution = topk::solve(problem.data, problem.options);
    }
    return to_dict(std::move(solution), problem.n_classes());
}

nb::list near_optimal(const Problem& problem, std::size_t n, double epsilon, bool errors_only,
                      bool distinct_predictions) {
    const topk::NearOptimalRequest request = {n, epsilon, errors_only, distinct_predictions};
    std::vector<topk::Solution> solutions;
    {
        const nb::gil_scoped_release no_gil;
        solutions = topk::near_optimal(problem.data, problem.options, request);
    }
    nb::list trees;
    for (topk::Solution& solution : solutions) {
        if (PyErr_CheckSignals() != 0) {  // there may be 100,000 trees
            throw nb::python_error();
        }
        trees.append(to_dict(std::move(solution), problem.n_classes()));
    }
    return trees;
}

// Return a function of the arguments of `make` and of those that `run` takes after the problem made of them.
template <class... Args, class Result, class... More>
auto on_problem(Problem (*make)(Args...), Result (*run)(const Problem&, More...)) {
    return [make, run](Args... args, More... more) { return run(make(args...), more...); };
}

}  // namespace

void bind_search(nb::module_& m) {
    using namespace nb::literals;
    const auto def_search = [&m](const char* name, auto function, auto... more) {
        m.def(name, function, nb::kw_only(), "rows"_a, "n_columns"_a, "classes"_a, "columns"_a.none(), "groups"_a,
              "row_weight"_a.none(), "class_weight"_a, "k"_a, "criterion"_a, "user_score"_a.none(), "weight_unit"_a,
              "feature_of_column"_a.none(), "n_features"_a, "features_per_node"_a, "draw_seed"_a, "min_rows"_a,
              "min_weight"_a, "distinct_splits"_a, "lookahead"_a, "refine"_a, "second_reading"_a.none(), "cost_scale"_a,
              "leaf_penalty"_a, "threads"_a, "use_cache"_a, "use_bounds"_a, "cache_bytes"_a, "arrange"_a,
              "max_fingerprinted_rows"_a, "large_node_bytes"_a, "draw_first_columns"_a, "shallow_first_columns"_a,
              "few_thresholds"_a, "threads_after"_a, "task_cycles"_a, "kernel"_a, "time_limit"_a, "known_cost"_a,
              "exact_root"_a, "progress"_a.none(), "on_tree"_a.none(), more...);
    };
    def_search("solve", on_problem(&make_problem, &solve));
    def_search("near_optimal", on_problem(&make_problem, &near_optimal), "n"_a, "epsilon"_a, "errors_only"_a,
               "distinct_predictions"_a);
}

}  // namespace bindings
