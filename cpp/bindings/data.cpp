// Tables to packed rows and ranks, class counts between thresholds, rows sent down a tree.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>

#include "arrays.hpp"

namespace bindings {
namespace {

using StridedArray = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;
using WritableArray = nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Words = std::unique_ptr<std::uint64_t[], decltype(&std::free)>;

// Zeroed rows. The system clears their pages when they are written to, which is after the GIL has been released.
Words empty_rows(std::size_t n_rows, std::size_t n_columns) {
    const std::size_t n_words = n_rows * ((n_columns + 63) / 64);
    Words rows(static_cast<std::uint64_t*>(std::calloc(std::max<std::size_t>(n_words, 1), sizeof(std::uint64_t))),
               &std::free);
    if (!rows) {
        throw std::bad_alloc();
    }
    return rows;
}

NewArray<std::uint64_t> finish_rows(Words&& rows, std::size_t n_rows, std::size_t n_columns) {
    nb::capsule owner(rows.get(), [](void* p) noexcept {
        const nb::gil_scoped_release no_gil;  // to give back gigabytes takes a while
        std::free(p);
    });
    return NewArray<std::uint64_t>(rows.release(), {n_rows, (n_columns + 63) / 64}, owner);
}

NewArray<std::uint64_t> pack_flags(const Array<std::uint8_t, 2>& values) {
    const std::size_t n_columns = values.shape(1);
    Words rows = empty_rows(values.shape(0), n_columns);
    {
        const nb::gil_scoped_release no_gil;
        const topk::Kernels& kernels = topk::find_kernels("");
        for (std::size_t row = 0; row < values.shape(0); ++row) {
            kernels.pack_flags(values.data() + row * n_columns, n_columns, rows.get() + row * ((n_columns + 63) / 64));
        }
    }
    return finish_rows(std::move(rows), values.shape(0), n_columns);
}

// Views of the arrays, which must agree with each other.
topk::ColumnGroups column_groups(const Array<double, 2>& features, const Array<double, 1>& entries,
                                 const Array<std::int64_t, 1>& offsets, const Array<std::int64_t, 1>& feature,
                                 const Array<std::uint8_t, 1>& test, const Array<std::uint8_t, 1>& or_missing) {
    const std::size_t n = feature.size();
    if (offsets.size() != n + 1 || test.size() != n || or_missing.size() != n || offsets(0) != 0 ||
        static_cast<std::size_t>(offsets(n)) != entries.size()) {
        throw std::invalid_argument(
            "test and or_missing must have one entry per group, offsets one more, from 0 to the number of entries");
    }
    for (std::size_t g = 0; g < n; ++g) {
        if (offsets(g) > offsets(g + 1)) {
            throw std::invalid_argument("offsets must not fall");
        }
        if (feature(g) < 0 || static_cast<std::size_t>(feature(g)) >= features.shape(0) || test(g) > 2 ||
            or_missing(g) > 1) {
            throw std::invalid_argument(
                "every group must have a feature that is there, a test of 0, 1 or 2, and or_missing of 0 or 1");
        }
    }
    return {view(entries), view(offsets), view(feature), view(test), view(or_missing)};
}

NewArray<std::uint64_t> pack_features(const Array<double, 2>& features, const Array<double, 1>& entries,
                                      const Array<std::int64_t, 1>& offsets, const Array<std::int64_t, 1>& feature,
                                      const Array<std::uint8_t, 1>& test, const Array<std::uint8_t, 1>& or_missing) {
    const auto columns = column_groups(features, entries, offsets, feature, test, or_missing);
    Words rows = empty_rows(features.shape(1), columns.n_columns());
    {
        const nb::gil_scoped_release no_gil;
        topk::pack_features(features.data(), features.shape(1), columns, rows.get());
    }
    return finish_rows(std::move(rows), features.shape(1), columns.n_columns());
}

NewArray<std::uint64_t> hash_columns(const Array<double, 2>& features, const Array<double, 1>& entries,
                                     const Array<std::int64_t, 1>& offsets, const Array<std::int64_t, 1>& feature,
                                     const Array<std::uint8_t, 1>& test, const Array<std::uint8_t, 1>& or_missing) {
    const auto columns = column_groups(features, entries, offsets, feature, test, or_missing);
    const std::size_t n_hashes = columns.n_columns() + 1;
    std::vector<std::uint64_t> hashes(2 * n_hashes);
    {
        const nb::gil_scoped_release no_gil;
        topk::hash_columns({features.data(), features.size()}, features.shape(1), columns, topk::find_kernels(""),
                           hashes.data());
    }
    return to_numpy(std::move(hashes), {n_hashes, 2});
}

NewArray<std::uint8_t> redundant_columns(const Array<std::uint64_t, 2>& hashes) {
    if (hashes.shape(0) == 0 || hashes.shape(1) != 4) {
        throw std::invalid_argument("hashes must have four words for each of at least 1 column");
    }
    return to_numpy(topk::redundant_columns({hashes.data(), hashes.size()}));
}

NewArray<double> class_cells(const Array<double, 1>& values, const Array<double, 1>& edges,
                             const Array<std::int32_t, 1>& classes, std::size_t n_classes,
                             const std::optional<Array<double, 1>>& row_weight) {
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

NewArray<double> short_decimals(const Array<double, 1>& low, const Array<double, 1>& high) {
    return to_numpy(topk::short_decimals(view(low), view(high)));
}

NewArray<std::uint8_t> tell_apart(const Array<double, 1>& low, const Array<double, 1>& high) {
    return to_numpy(topk::tell_apart(view(low), view(high)));
}

nb::tuple rank(topk::Ranker& ranker, const StridedArray& values, const WritableArray& ranks) {
    if (ranks.size() != values.size()) {
        throw std::invalid_argument("ranks must have one entry per value");
    }
    topk::Ranks found;
    {
        const nb::gil_scoped_release no_gil;
        found = ranker.rank(values.data(), values.size(), values.stride(0), ranks.data());
    }
    return nb::make_tuple(found.n, found.are_whole);
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

}  // namespace

void bind_data(nb::module_& m) {
    using namespace nb::literals;
    m.def("pack_flags", &pack_flags, "values"_a);
    m.def("pack_features", &pack_features, nb::kw_only(), "features"_a, "entries"_a, "offsets"_a, "feature"_a, "test"_a,
          "or_missing"_a);
    m.def("hash_columns", &hash_columns, nb::kw_only(), "features"_a, "entries"_a, "offsets"_a, "feature"_a, "test"_a,
          "or_missing"_a);
    m.def("redundant_columns", &redundant_columns, nb::kw_only(), "hashes"_a);
    m.def("class_cells", &class_cells, nb::kw_only(), "values"_a, "edges"_a, "classes"_a, "n_classes"_a,
          "row_weight"_a.none());
    m.def("split_order", &split_order, nb::kw_only(), "cells"_a, "n"_a);
    m.def("short_decimals", &short_decimals, nb::kw_only(), "low"_a, "high"_a);
    m.def("tell_apart", &tell_apart, nb::kw_only(), "low"_a, "high"_a);
    nb::class_<topk::Ranker>(m, "Ranker")
        .def(nb::init<>())
        .def("rank", &rank, nb::kw_only(), "values"_a, "ranks"_a.noconvert());
    m.def("walk", &walk, nb::kw_only(), "rows"_a, "n_columns"_a, "column"_a, "false_child"_a, "true_child"_a);
}

}  // namespace bindings
