// The scalar kernels as compilers without builtins and vector types get them, compiled by this compiler for the tests.
#pragma once

#define TOPK_PLAIN
#define kScalarKernels kPlainKernels
#include "topk/kernels/scalar.cpp"
#undef kScalarKernels
#undef TOPK_PLAIN

inline topk::Kernels plain_kernels() {
    topk::Kernels kernels = topk::kPlainKernels;
    kernels.name = "plain";
    return kernels;
}
