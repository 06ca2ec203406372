// NumPy arrays to spans and back, and the parsing that several bindings share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "topk/topk.hpp"

namespace bindings {

namespace nb = nanobind;

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

inline topk::Criterion parse_criterion(const std::string& name) {
    if (name == "entropy") return topk::Criterion::entropy;
    if (name == "gini") return topk::Criterion::gini;
    if (name == "sqrt") return topk::Criterion::sqrt;
    if (name == "gain_ratio") return topk::Criterion::gain_ratio;
    if (name == "user") return topk::Criterion::user;
    throw std::invalid_argument("criterion must be entropy, gini, sqrt, gain_ratio or user, got " + name);
}

// Rows are packed words, or one byte per row and column.
using Rows = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline void set_rows(const Rows& rows, std::size_t n_columns, topk::Data& data) {
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

// Each adds its functions to the module.
void bind_search(nb::module_& m);
void bind_data(nb::module_& m);
void bind_remote(nb::module_& m);

}  // namespace bindings
