// The kernel tables of this build. kernels.cpp asks the processor which of them it can run.
#pragma once

#include "topk/kernels/kernels.hpp"

namespace topk {

extern const Kernels kScalarKernels;
#if defined(TOPK_HAVE_AVX2)
extern const Kernels kAvx2Kernels;
#endif
#if defined(TOPK_HAVE_AVX512)
extern const Kernels kAvx512Kernels;
#endif
#if defined(TOPK_HAVE_NEON)
extern const Kernels kNeonKernels;
#endif

}  // namespace topk
