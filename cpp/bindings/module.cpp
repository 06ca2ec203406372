// The Python module _core: check array types, release the GIL, call the core, return arrays. No logic.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"

namespace {

std::vector<std::string> kernels() {
    std::vector<std::string> names;
    for (const topk::Kernels* kernel : topk::available_kernels()) {
        names.emplace_back(kernel->name);
    }
    return names;
}

}  // namespace

NB_MODULE(_core, m) {
    bindings::bind_search(m);
    bindings::bind_data(m);
    bindings::bind_remote(m);
    m.def("kernels", &kernels);
}
