// Finds the kernels that this processor can run.
#include "topk/kernels/kernels.hpp"

#include <stdexcept>

#include "topk/kernels/processor.hpp"
#include "topk/kernels/tables.hpp"

namespace topk {
namespace {

std::vector<const Kernels*> detect() {
    std::vector<const Kernels*> found = {&kScalarKernels};
#if defined(TOPK_HAVE_AVX2)
    if (processor_has_avx2()) {
        found.push_back(&kAvx2Kernels);
    }
#endif
#if defined(TOPK_HAVE_AVX512)
    if (processor_has_avx512()) {
        found.push_back(&kAvx512Kernels);
    }
#endif
#if defined(TOPK_HAVE_NEON)
    found.push_back(&kNeonKernels);
#endif
    return found;
}

}  // namespace

const std::vector<const Kernels*>& available_kernels() {
    static const std::vector<const Kernels*> kernels = detect();
    return kernels;
}

const Kernels& find_kernels(const std::string& name) {
    if (name.empty()) {
        return *available_kernels().back();
    }
    std::string names;
    for (const Kernels* kernels : available_kernels()) {
        if (name == kernels->name) {
            return *kernels;
        }
        names += names.empty() ? kernels->name : std::string(", ") + kernels->name;
    }
    throw std::invalid_argument("kernel must be one of " + names + ", got " + name);
}

}  // namespace topk
