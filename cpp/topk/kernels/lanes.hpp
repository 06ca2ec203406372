// Bit operations on words, and vectors, for the loops that all instruction sets share.
//
// GCC and Clang have builtins and vector types for both. Other compilers get plain C++ with the same results; so do GCC
// and Clang if TOPK_PLAIN is defined, for the tests. Like common.hpp, this is compiled once per instruction set:
// everything is in an unnamed namespace and calls nothing from the standard library.
#pragma once

#include <math.h>  // sqrt as a function of C, not as an inline function of the standard library

#include <cstddef>
#include <cstdint>
#include <utility>

#if (defined(__GNUC__) || defined(__clang__)) && !defined(TOPK_PLAIN)
#define TOPK_HAVE_BUILTINS
#endif
#if defined(__SSE2__) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(TOPK_HAVE_BUILTINS)
#include <arm_neon.h>
#endif

namespace topk {
namespace {

// Count the bits that are set, by additions: a loop over it can be vectorised.
inline std::int32_t sum_bits(std::uint64_t x) {
    x -= (x >> 1) & 0x5555555555555555U;
    x = (x & 0x3333333333333333U) + ((x >> 2) & 0x3333333333333333U);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fU;
    return static_cast<std::int32_t>((x * 0x0101010101010101U) >> 56);
}

#if defined(TOPK_HAVE_BUILTINS)

// One popcnt instruction in the files whose instruction set has it.
inline int count_bits(std::uint64_t x) { return __builtin_popcountll(x); }

// Precondition: x is not zero.
inline int lowest_bit(std::uint64_t x) { return __builtin_ctzll(x); }

// The width of one register. GCC divides longer vectors into registers too, but turns their comparisons into scalar
// code.
#if defined(__AVX512F__)
inline constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t kVectorBytes = 32;
#else
inline constexpr std::size_t kVectorBytes = 16;
#endif

typedef std::int32_t Int32s __attribute__((vector_size(kVectorBytes)));
typedef double Reals __attribute__((vector_size(kVectorBytes)));
typedef std::int64_t Integers __attribute__((vector_size(kVectorBytes)));
typedef std::uint64_t Words __attribute__((vector_size(kVectorBytes)));
inline constexpr std::size_t kInt32s = kVectorBytes / sizeof(std::int32_t);
inline constexpr std::size_t kReals = kVectorBytes / sizeof(double);
inline constexpr std::size_t kWords = kVectorBytes / sizeof(std::uint64_t);

inline void convert(const std::int32_t* n, Reals& out) {
    typedef std::int32_t Halves __attribute__((vector_size(kVectorBytes / 2)));
    out = __builtin_convertvector(*reinterpret_cast<const Halves*>(n), Reals);
}

inline void convert(const std::int32_t* n, Integers& out) {
    typedef std::int32_t Halves __attribute__((vector_size(kVectorBytes / 2)));
    out = __builtin_convertvector(*reinterpret_cast<const Halves*>(n), Integers);
}

inline void square_root(const Reals& x, Reals& out) {
#if defined(__AVX512F__)
    out = _mm512_sqrt_pd(x);
#elif defined(__AVX2__)
    out = _mm256_sqrt_pd(x);
#elif defined(__SSE2__)
    out = _mm_sqrt_pd(x);
#elif defined(__aarch64__)
    out = vsqrtq_f64(x);
#else
    for (std::size_t i = 0; i < kReals; ++i) {
        out[i] = sqrt(x[i]);
    }
#endif
}

inline void raise_to(Int32s& best, const Int32s& x) { best = best > x ? best : x; }

inline void lower_to(Int32s& best, const Int32s& x) { best = best < x ? best : x; }

// `where`: the result of a comparison.
inline void choose(const Int32s& where, const Int32s& a, const Int32s& b, Int32s& out) { out = where ? a : b; }

// out[i] = x[i ^ kDistance].
template <std::size_t kDistance, class Vector, std::size_t... i>
void swap_neighbours(const Vector& x, Vector& out, std::index_sequence<i...>) {
#if defined(__clang__)
    out = __builtin_shufflevector(x, x, (i ^ kDistance)...);
#else
    out = __builtin_shuffle(x, Vector{(i ^ kDistance)...});
#endif
}

template <std::size_t kDistance = kInt32s / 2>
std::int32_t smallest_lane(Int32s x) {
    Int32s other;
    swap_neighbours<kDistance>(x, other, std::make_index_sequence<kInt32s>());
    lower_to(x, other);
    if constexpr (kDistance > 1) {
        return smallest_lane<kDistance / 2>(x);
    } else {
        return x[0];
    }
}

// Swap the bits of `mask` in x[i], i without kDistance, with those in x[i + kDistance] that are kDistance further up.
template <std::size_t kDistance>
void swap_lanes(Words& x, std::uint64_t mask) {
    Words other;
    swap_neighbours<kDistance>(x, other, std::make_index_sequence<kWords>());
    Words is_lower;
    for (std::size_t i = 0; i < kWords; ++i) {
        is_lower[i] = (i & kDistance) == 0 ? ~std::uint64_t{0} : 0;
    }
    const Words lower = (((x >> kDistance) ^ other) & mask) << kDistance;
    const Words upper = ((other >> kDistance) ^ x) & mask;
    x ^= (lower & is_lower) | (upper & ~is_lower);
}

#else

#if defined(__AVX2__)

inline int count_bits(std::uint64_t x) { return static_cast<int>(_mm_popcnt_u64(x)); }

inline int lowest_bit(std::uint64_t x) { return static_cast<int>(_tzcnt_u64(x)); }

#else

inline int count_bits(std::uint64_t x) { return sum_bits(x); }

inline int lowest_bit(std::uint64_t x) { return count_bits(~x & (x - 1)); }

#endif

// Compilers without vector types turn loops of constant length over these into vector instructions.
template <class T, std::size_t kLanes>
struct alignas(64) Lanes {
    T lane[kLanes] = {};

    T operator[](int i) const { return lane[i]; }
};

using Reals = double;
using Integers = std::int64_t;
using Words = std::uint64_t;
inline constexpr std::size_t kReals = 1;
inline constexpr std::size_t kWords = 1;

inline void convert(const std::int32_t* n, Reals& out) { out = *n; }

inline void convert(const std::int32_t* n, Integers& out) { out = *n; }

inline void square_root(const Reals& x, Reals& out) { out = sqrt(x); }

inline constexpr std::size_t kInt32s = 16;
using Int32s = Lanes<std::int32_t, kInt32s>;

template <class T, std::size_t kLanes, class Function>
inline Lanes<T, kLanes> map(const Lanes<T, kLanes>& a, const Lanes<T, kLanes>& b, Function function) {
    Lanes<T, kLanes> out;
    for (std::size_t i = 0; i < kLanes; ++i) {
        out.lane[i] = function(a.lane[i], b.lane[i]);
    }
    return out;
}

template <class T, std::size_t kLanes, class Function>
inline Lanes<T, kLanes> map(const Lanes<T, kLanes>& a, Function function) {
    return map(a, a, [function](T x, T) { return function(x); });
}

inline Int32s operator+(const Int32s& a, std::int32_t b) {
    return map(a, [b](std::int32_t x) { return x + b; });
}
inline Int32s operator-(const Int32s& a, const Int32s& b) {
    return map(a, b, [](std::int32_t x, std::int32_t y) { return x - y; });
}
inline Int32s operator-(std::int32_t a, const Int32s& b) {
    return map(b, [a](std::int32_t x) { return a - x; });
}
inline void operator+=(Int32s& a, const Int32s& b) {
    a = map(a, b, [](std::int32_t x, std::int32_t y) { return x + y; });
}
inline Int32s operator<(const Int32s& a, std::int32_t b) {
    return map(a, [b](std::int32_t x) { return x < b ? -1 : 0; });
}
inline Int32s operator|(const Int32s& a, const Int32s& b) {
    return map(a, b, [](std::int32_t x, std::int32_t y) { return x | y; });
}
inline void raise_to(Int32s& best, const Int32s& x) {
    best = map(best, x, [](std::int32_t a, std::int32_t b) { return a > b ? a : b; });
}
inline void lower_to(Int32s& best, const Int32s& x) {
    best = map(best, x, [](std::int32_t a, std::int32_t b) { return a < b ? a : b; });
}
inline void choose(const Int32s& where, const Int32s& a, const Int32s& b, Int32s& out) {
    for (std::size_t i = 0; i < kInt32s; ++i) {
        out.lane[i] = where.lane[i] != 0 ? a.lane[i] : b.lane[i];
    }
}
inline std::int32_t smallest_lane(const Int32s& x) {
    std::int32_t best = x[0];
    for (int i = 1; i < static_cast<int>(kInt32s); ++i) {
        best = x[i] < best ? x[i] : best;
    }
    return best;
}

#endif

}  // namespace
}  // namespace topk
