// The Python face of the core: check array types, release the GIL, call, return arrays. No logic.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "topk/data/boundaries.hpp"
#include "topk/data/pack.hpp"
#include "topk/data/walk.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/remote/ranking.hpp"
#include "topk/remote/shard.hpp"
#include "topk/search/near_optimal.hpp"
#include "topk/search/search.hpp"
#include "topk/search/validate.hpp"

namespace nb = nanobind;

namespace {

template <class T, std::size_t kDims>
using Array = nb::ndarray<const T, nb::ndim<kDims>, nb::c_contig, nb::device::cpu>;

template <class T>
using NewArray = nb::ndarray<nb::numpy, T>;

template <class T>
std::span<const T> view(const Array<T, 1>& array) {
    return {array.data(), array.size()};
}

// A NumPy array that owns the vector's memory.
template <class T>
NewArray<T> to_numpy(std::vector<T>&& values, std::vector<std::size_t> shape) {
    auto owner = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owner->data();
    nb::capsule capsule(owner.get(),
                        [](void* p) noexcept { std::unique_ptr<std::vector<T>>(static_cast<std::vector<T>*>(p)); });
    static_cast<void>(owner.release());
    return NewArray<T>(data, shape.size(), shape.data(), capsule);
}

template <class T>
NewArray<T> to_numpy(std::vector<T>&& values) {
    const std::size_t n = values.size();
    return to_numpy(std::move(values), {n});
}

topk::Criterion parse_criterion(const std::string& name) {
    if (name == "entropy") return topk::Criterion::entropy;
    if (name == "gini") return topk::Criterion::gini;
    if (name == "sqrt") return topk::Criterion::sqrt;
    if (name == "gain_ratio") return topk::Criterion::gain_ratio;
    if (name == "user") return topk::Criterion::user;
    throw std::invalid_argument("criterion must be entropy, gini, sqrt, gain_ratio or user, got " + name);
}

// Calls user_score(left, right, admissible) with the GIL held; counts are (n_columns, n_classes).
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

// Lets Python handle signals (Ctrl-C) and shows progress.
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
    result["column"] = to_numpy(std::move(root.column));
    result["cost"] = to_numpy(std::move(root.cost));
    result["exact"] = to_numpy(std::move(root.exact));
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
    result["cost"] = solution.cost;
    result["n_wrong"] = solution.n_wrong;
    result["complete"] = solution.complete;
    result["statistics"] = statistics;
    return result;
}

// Shows a tree on the way to the best one.
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

// Rows are packed words, or a byte for every row and column.
using Rows = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void set_rows(const Rows& rows, std::size_t n_columns, topk::Data& data) {
    data.n_rows = rows.shape(0);
    data.n_columns = n_columns;
    data.n_stored = n_columns;
    if (rows.dtype() == nb::dtype<std::uint8_t>()) {
        if (rows.shape(1) != n_columns) {
            throw std::invalid_argument("rows of bytes must have n_columns columns");
        }
        data.flags = {static_cast<const std::uint8_t*>(rows.data()), rows.size()};
    } else if (rows.dtype() == nb::dtype<std::uint64_t>()) {
        data.rows = {static_cast<const std::uint64_t*>(rows.data()), rows.size()};
    } else {
        throw nb::type_error("rows must be of type uint64, packed, or uint8");
    }
}

// What every search is given; views of the arguments, which must outlive it.
struct Problem {
    topk::Data data;
    topk::Options options;
    std::size_t n_classes() const { return data.class_weight.size(); }
};

Problem make_problem(const Rows& rows, std::size_t n_columns, const Array<std::int32_t, 1>& classes,
                     const std::optional<Array<std::int32_t, 1>>& columns,
                     const std::optional<Array<std::int64_t, 1>>& row_weight,
                     const Array<std::int64_t, 1>& class_weight, std::vector<std::int32_t> k,
                     const std::string& criterion, const nb::object& user_score, double weight_unit,
                     const std::optional<Array<std::int32_t, 1>>& feature_of_column, std::size_t n_features,
                     std::size_t features_per_node, std::uint64_t draw_seed, std::int64_t min_rows,
                     std::int64_t min_weight, bool distinct_splits, std::int64_t cost_scale, std::int64_t leaf_penalty,
                     int threads, bool use_cache, bool use_bounds, std::size_t cache_bytes, const std::string& arrange,
                     std::size_t max_keyed_rows, std::size_t large_node_bytes, std::size_t many_columns,
                     double threads_after, std::string kernel, double time_limit, std::int64_t known_cost,
                     bool exact_root, const nb::object& progress, const nb::object& on_tree) {
    Problem problem;
    topk::Data& data = problem.data;
    set_rows(rows, n_columns, data);
    if (columns) {
        data.columns = view(*columns);
        data.n_columns = columns->size();
    }
    data.classes = view(classes);
    data.n_classes = static_cast<std::int32_t>(class_weight.size());
    if (row_weight) {
        data.row_weight = view(*row_weight);
    }
    data.class_weight = view(class_weight);
    topk::Options& options = problem.options;
    options.k = std::move(k);
    options.criterion = parse_criterion(criterion);
    if (options.criterion == topk::Criterion::user) {
        options.user_score = wrap_score(user_score, data.n_columns, class_weight.size());
    }
    options.user_weight_unit = weight_unit;
    options.min_rows = min_rows;
    options.min_weight = min_weight;
    options.distinct_splits = distinct_splits;
    if (feature_of_column) {
        options.draw.of_column.assign(feature_of_column->data(), feature_of_column->data() + feature_of_column->size());
        options.draw.n_features = features_per_node;
        options.draw.n_all = n_features;
        options.draw.seed = draw_seed;
    }
    options.cost_scale = cost_scale;
    options.leaf_penalty = leaf_penalty;
    options.threads = threads;
    options.use_cache = use_cache;
    options.use_bounds = use_bounds;
    options.cache_bytes = cache_bytes;
    options.arrange = parse_arrange(arrange);
    options.max_keyed_rows = max_keyed_rows;
    options.large_node_bytes = large_node_bytes;
    options.many_columns = many_columns;
    options.threads_after = threads_after;
    options.kernel = std::move(kernel);
    options.time_limit = time_limit;
    options.known_cost = known_cost;
    options.exact_root = exact_root;
    options.poll = wrap_poll(progress);
    if (!on_tree.is_none()) {
        options.on_tree = wrap_on_tree(on_tree, class_weight.size());
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
    const topk::NearOptimalWishes wishes = {n, epsilon, errors_only, distinct_predictions};
    std::vector<topk::Solution> solutions;
    {
        const nb::gil_scoped_release no_gil;
        solutions = topk::near_optimal(problem.data, problem.options, wishes);
    }
    nb::list trees;
    for (topk::Solution& solution : solutions) {
        if (PyErr_CheckSignals() != 0) {  // there may be a hundred thousand of them, and Ctrl-C
            throw nb::python_error();
        }
        trees.append(to_dict(std::move(solution), problem.n_classes()));
    }
    return trees;
}

// A function of the arguments of `make`, and of those that `run` takes after the problem that is made of them.
template <class... Args, class Result, class... More>
auto on_problem(Problem (*make)(Args...), Result (*run)(const Problem&, More...)) {
    return [make, run](Args... args, More... more) { return run(make(args...), more...); };
}

std::vector<std::uint64_t> empty_rows(std::size_t n_rows, std::size_t n_columns) {
    return std::vector<std::uint64_t>(n_rows * ((n_columns + 63) / 64));
}

NewArray<std::uint64_t> finish_rows(std::vector<std::uint64_t>&& rows, std::size_t n_rows, std::size_t n_columns) {
    return to_numpy(std::move(rows), {n_rows, (n_columns + 63) / 64});
}

std::optional<NewArray<std::uint64_t>> pack_booleans(const Array<std::uint8_t, 2>& values) {
    std::vector<std::uint64_t> rows = empty_rows(values.shape(0), values.shape(1));
    bool binary = false;
    {
        const nb::gil_scoped_release no_gil;
        binary = topk::pack_booleans(values.data(), values.shape(0), values.shape(1), rows.data());
    }
    return binary ? std::optional(finish_rows(std::move(rows), values.shape(0), values.shape(1))) : std::nullopt;
}

NewArray<std::uint64_t> pack_flags(const Array<std::uint8_t, 2>& values) {
    const std::size_t n_columns = values.shape(1);
    std::vector<std::uint64_t> rows = empty_rows(values.shape(0), n_columns);
    {
        const nb::gil_scoped_release no_gil;
        const topk::Kernels& kernels = topk::find_kernels("");
        for (std::size_t row = 0; row < values.shape(0); ++row) {
            kernels.pack_flags(values.data() + row * n_columns, n_columns, rows.data() + row * ((n_columns + 63) / 64));
        }
    }
    return finish_rows(std::move(rows), values.shape(0), n_columns);
}

// Views of the arrays, which must agree with each other.
topk::FeatureColumns feature_columns(const Array<double, 2>& features, const Array<double, 1>& entries,
                                     const Array<std::int64_t, 1>& offsets, const Array<std::uint8_t, 1>& equality,
                                     const Array<std::uint8_t, 1>& tests_missing) {
    const std::size_t n = features.shape(0);
    if (offsets.size() != n + 1 || equality.size() != n || tests_missing.size() != n || offsets(0) != 0 ||
        static_cast<std::size_t>(offsets(n)) != entries.size()) {
        throw std::invalid_argument(
            "equality and tests_missing must have one entry per feature, offsets one more, from 0 to the number of "
            "entries");
    }
    for (std::size_t f = 0; f < n; ++f) {
        if (offsets(f) > offsets(f + 1)) {
            throw std::invalid_argument("offsets must not fall");
        }
    }
    return {view(entries), view(offsets), view(equality), view(tests_missing)};
}

NewArray<std::uint64_t> pack_features(const Array<double, 2>& features, const Array<double, 1>& entries,
                                      const Array<std::int64_t, 1>& offsets, const Array<std::uint8_t, 1>& equality,
                                      const Array<std::uint8_t, 1>& tests_missing) {
    const auto columns = feature_columns(features, entries, offsets, equality, tests_missing);
    std::vector<std::uint64_t> rows = empty_rows(features.shape(1), columns.n_columns());
    {
        const nb::gil_scoped_release no_gil;
        topk::pack_features(features.data(), features.shape(1), columns, rows.data());
    }
    return finish_rows(std::move(rows), features.shape(1), columns.n_columns());
}

NewArray<std::uint64_t> hash_columns(const Array<double, 2>& features, const Array<double, 1>& entries,
                                     const Array<std::int64_t, 1>& offsets, const Array<std::uint8_t, 1>& equality,
                                     const Array<std::uint8_t, 1>& tests_missing, std::uint64_t first_row) {
    const auto columns = feature_columns(features, entries, offsets, equality, tests_missing);
    const std::size_t n_hashes = columns.n_columns() + 1;
    std::vector<std::uint64_t> hashes(2 * n_hashes);
    {
        const nb::gil_scoped_release no_gil;
        topk::hash_columns(features.data(), features.shape(1), first_row, columns, hashes.data());
    }
    return to_numpy(std::move(hashes), {n_hashes, 2});
}

NewArray<double> class_cells(const Array<double, 1>& values, const Array<double, 1>& edges,
                             const Array<std::int32_t, 1>& classes, std::size_t n_classes,
                             const std::optional<Array<double, 1>>& row_weight) {
    if (classes.size() != values.size() || (row_weight && row_weight->size() != values.size())) {
        throw std::invalid_argument("classes and row_weight must have one entry per value");
    }
    for (const std::int32_t index : view(classes)) {
        if (index < 0 || static_cast<std::size_t>(index) >= n_classes) {
            throw std::invalid_argument("classes must be in [0, n_classes), got " + std::to_string(index));
        }
    }
    std::vector<double> cells;
    {
        const nb::gil_scoped_release no_gil;
        cells = topk::class_cells(view(values), view(edges), view(classes), n_classes,
                                  row_weight ? view(*row_weight) : std::span<const double>());
    }
    return to_numpy(std::move(cells), {edges.size() + 1, n_classes});
}

NewArray<std::int64_t> split_order(const Array<double, 2>& cells, std::size_t n) {
    std::vector<std::int64_t> order;
    {
        const nb::gil_scoped_release no_gil;
        order = topk::split_order({cells.data(), cells.size()}, cells.shape(1), n);
    }
    return to_numpy(std::move(order));
}

NewArray<std::uint64_t> make_shard(const Rows& rows, std::size_t n_columns, const Array<std::int32_t, 1>& classes,
                                   std::size_t n_classes, const std::optional<Array<std::int64_t, 1>>& row_weight,
                                   std::size_t block_bytes) {
    topk::Data data;
    set_rows(rows, n_columns, data);
    data.classes = view(classes);
    data.n_classes = static_cast<std::int32_t>(n_classes);
    if (row_weight) {
        data.row_weight = view(*row_weight);
    }
    const std::vector<std::int64_t> ones(n_classes, 1);
    data.class_weight = ones;
    std::vector<std::uint64_t> shard;
    {
        const nb::gil_scoped_release no_gil;
        topk::validate(data, {});
        shard = topk::make_shard(data, block_bytes, topk::find_kernels(""));
    }
    return to_numpy(std::move(shard));
}

NewArray<std::int64_t> count_shard(const Array<std::uint64_t, 1>& shard, std::size_t n_columns, std::size_t n_classes,
                                   const Array<std::int32_t, 1>& depth, const Array<std::int32_t, 1>& column,
                                   const Array<std::uint8_t, 1>& side, const Array<std::int64_t, 1>& answers,
                                   std::size_t n_answers, bool count_rows) {
    const topk::Paths paths = {view(depth), view(column), view(side), view(answers)};
    std::vector<std::int64_t> counts(topk::n_counts({n_columns, n_classes}, n_answers));
    {
        const nb::gil_scoped_release no_gil;
        topk::count_shard(view(shard), {n_columns, n_classes}, paths, n_answers, count_rows, topk::find_kernels(""),
                          counts.data());
    }
    return to_numpy(std::move(counts), {n_answers, n_classes, n_columns});
}

nb::tuple rank_columns(const Array<std::int64_t, 3>& counts, const Array<std::int64_t, 2>& totals,
                       const std::optional<Array<std::uint8_t, 2>>& usable, const Array<std::int64_t, 1>& limit,
                       std::size_t k, const std::string& criterion, std::int64_t min_weight,
                       std::int64_t total_weight) {
    topk::Options options;
    options.criterion = parse_criterion(criterion);
    options.min_weight = min_weight;
    if (options.criterion == topk::Criterion::user) {
        throw std::invalid_argument("criterion must be entropy, gini, sqrt or gain_ratio, got user");
    }
    const topk::NodeCounts nodes = {
        counts.shape(0),
        counts.shape(1),
        counts.shape(2),
        {counts.data(), counts.size()},
        {totals.data(), totals.size()},
        usable ? std::span<const std::uint8_t>(usable->data(), usable->size()) : std::span<const std::uint8_t>()};
    topk::Ranked ranked;
    {
        const nb::gil_scoped_release no_gil;
        ranked = topk::rank_columns(nodes, options, k, view(limit), total_weight, topk::find_kernels(""));
    }
    return nb::make_tuple(to_numpy(std::move(ranked.fewest)), to_numpy(std::move(ranked.columns), {nodes.n_nodes, k}),
                          to_numpy(std::move(ranked.errors), {nodes.n_nodes, k}));
}

NewArray<std::int32_t> walk(const Rows& rows, std::size_t n_columns, const Array<std::int32_t, 1>& column,
                            const Array<std::int32_t, 1>& false_child, const Array<std::int32_t, 1>& true_child) {
    topk::Data data;
    set_rows(rows, n_columns, data);
    std::vector<std::int32_t> leaves(data.n_rows);
    {
        const nb::gil_scoped_release no_gil;
        topk::walk(data, {view(column), view(false_child), view(true_child)}, leaves.data());
    }
    return to_numpy(std::move(leaves));
}

std::vector<std::string> kernels() {
    std::vector<std::string> names;
    for (const topk::Kernels* kernel : topk::available_kernels()) {
        names.emplace_back(kernel->name);
    }
    return names;
}

}  // namespace

NB_MODULE(_core, m) {
    using namespace nb::literals;
    const auto def_search = [&m](const char* name, auto function, auto... more) {
        m.def(name, function, nb::kw_only(), "rows"_a, "n_columns"_a, "classes"_a, "columns"_a.none(),
              "row_weight"_a.none(), "class_weight"_a, "k"_a, "criterion"_a, "user_score"_a.none(), "weight_unit"_a,
              "feature_of_column"_a.none(), "n_features"_a, "features_per_node"_a, "draw_seed"_a, "min_rows"_a,
              "min_weight"_a, "distinct_splits"_a, "cost_scale"_a, "leaf_penalty"_a, "threads"_a, "use_cache"_a,
              "use_bounds"_a, "cache_bytes"_a, "arrange"_a, "max_keyed_rows"_a, "large_node_bytes"_a, "many_columns"_a,
              "threads_after"_a, "kernel"_a, "time_limit"_a, "known_cost"_a, "exact_root"_a, "progress"_a.none(),
              "on_tree"_a.none(), more...);
    };
    def_search("solve", on_problem(&make_problem, &solve));
    def_search("near_optimal", on_problem(&make_problem, &near_optimal), "n"_a, "epsilon"_a, "errors_only"_a,
               "distinct_predictions"_a);
    m.def("pack_booleans", &pack_booleans, "values"_a);
    m.def("pack_flags", &pack_flags, "values"_a);
    m.def("pack_features", &pack_features, nb::kw_only(), "features"_a, "entries"_a, "offsets"_a, "equality"_a,
          "tests_missing"_a);
    m.def("hash_columns", &hash_columns, nb::kw_only(), "features"_a, "entries"_a, "offsets"_a, "equality"_a,
          "tests_missing"_a, "first_row"_a);
    m.def("class_cells", &class_cells, nb::kw_only(), "values"_a, "edges"_a, "classes"_a, "n_classes"_a,
          "row_weight"_a.none());
    m.def("split_order", &split_order, nb::kw_only(), "cells"_a, "n"_a);
    m.def("make_shard", &make_shard, nb::kw_only(), "rows"_a, "n_columns"_a, "classes"_a, "n_classes"_a,
          "row_weight"_a.none(), "block_bytes"_a);
    m.def("count_shard", &count_shard, nb::kw_only(), "shard"_a, "n_columns"_a, "n_classes"_a, "depth"_a, "column"_a,
          "side"_a, "answers"_a, "n_answers"_a, "count_rows"_a);
    m.def("rank_columns", &rank_columns, nb::kw_only(), "counts"_a, "totals"_a, "usable"_a.none(), "limit"_a, "k"_a,
          "criterion"_a, "min_weight"_a, "total_weight"_a);
    m.def("walk", &walk, nb::kw_only(), "rows"_a, "n_columns"_a, "column"_a, "false_child"_a, "true_child"_a);
    m.def("kernels", &kernels);
}
