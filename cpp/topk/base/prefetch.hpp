// A hint to the processor that memory will be read soon. Only speed depends on it.
#pragma once

#if defined(_M_X64)
#include <immintrin.h>
#endif

namespace topk {

inline void prefetch([[maybe_unused]] const void* p) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(p);
#elif defined(_M_X64)
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
#endif
}

}  // namespace topk
