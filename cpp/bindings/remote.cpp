// Rows that are counted elsewhere: shards, and candidates from their counts.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "arrays.hpp"

namespace bindings {
namespace {

NewArray<std::uint64_t> make_shard(const Rows& rows, std::size_t n_columns, const Array<std::int32_t, 1>& classes,
                                   std::size_t n_classes, const std::optional<Array<std::int64_t, 1>>& row_weight,
                                   std::size_t block_bytes) {
    if (n_classes > INT32_MAX) {
        throw std::invalid_argument("n_classes must be below 2^31, got " + std::to_string(n_classes));
    }
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
                       const Array<std::int64_t, 1>& k, bool every_column, const std::string& criterion,
                       std::int64_t min_weight, std::int64_t total_weight,
                       const std::optional<Array<std::int32_t, 1>>& second_reading) {
    topk::Objective objective;
    objective.criterion = parse_criterion(criterion);
    objective.min_weight = min_weight;
    if (second_reading) {
        const auto offsets = view(*second_reading);
        objective.second_reading.assign(offsets.begin(), offsets.end());
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
        ranked = topk::rank_columns(nodes, objective, view(k), every_column, view(limit), total_weight,
                                    topk::find_kernels(""));
    }
    return nb::make_tuple(to_numpy(std::move(ranked.fewest)),
                          to_numpy(std::move(ranked.columns), {nodes.n_nodes, ranked.width}),
                          to_numpy(std::move(ranked.errors), {nodes.n_nodes, ranked.width}));
}

}  // namespace

void bind_remote(nb::module_& m) {
    using namespace nb::literals;
    m.def("make_shard", &make_shard, nb::kw_only(), "rows"_a, "n_columns"_a, "classes"_a, "n_classes"_a,
          "row_weight"_a.none(), "block_bytes"_a);
    m.def("count_shard", &count_shard, nb::kw_only(), "shard"_a, "n_columns"_a, "n_classes"_a, "depth"_a, "column"_a,
          "side"_a, "answers"_a, "n_answers"_a, "count_rows"_a);
    m.def("rank_columns", &rank_columns, nb::kw_only(), "counts"_a, "totals"_a, "usable"_a.none(), "limit"_a, "k"_a,
          "every_column"_a, "criterion"_a, "min_weight"_a, "total_weight"_a, "second_reading"_a.none());
}

}  // namespace bindings
