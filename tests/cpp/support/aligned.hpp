// Aligned arrays for kernels, zero at first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "topk/base/memory.hpp"

template <class T>
struct Aligned {
    explicit Aligned(std::size_t n) : size(n) { std::fill_n(buffer.ensure(n), n, T{0}); }
    T* data() { return buffer.data(); }
    T& operator[](std::size_t i) { return buffer[i]; }
    std::vector<T> copy() { return {data(), data() + size}; }

    std::size_t size;
    topk::AlignedBuffer<T> buffer;
};
