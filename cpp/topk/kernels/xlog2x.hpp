// n * log2(n) in fixed point: the same bits in every kernel, on every machine and in the Python reference.
//
// It uses IEEE additions, products and quotients only, in the order of the reference and without fused ones (the core
// is compiled with -ffp-contract=off), so that the result does not depend on a library's logarithm. It has no branches
// and no calls, so that the same code serves vectors of numbers. Unnamed namespace: see common.hpp.
#pragma once

#include <cstdint>
#include <cstring>

namespace topk {
namespace {

template <class Mask, class T>
inline void choose_term(const Mask& where, const T& a, const T& b, T& out) {
    out = where ? a : b;
}

constexpr double kToInteger = 0x1.8p52;  // added to a double below 2^51, it leaves the nearest integer in the mantissa
constexpr std::int64_t kToIntegerBits = (std::int64_t{0x433} << 52) + (std::int64_t{1} << 51);

// The nearest integer, ties to even, as std::nearbyint. Precondition: 0 <= x < 2^51.
template <class Real, class Integer>
inline void round_to_integer(const Real& x, Integer& out) {
    const Real rounded = x + kToInteger;
    std::memcpy(&out, &rounded, sizeof(out));
    out -= kToIntegerBits;
}

// Real is double or a vector of doubles, Integer is std::int64_t or a vector of as many of them. Precondition: x is a
// whole number in [0, 2^53) and the result, which is rounded to an integer, is below 2^51.
template <class Real, class Integer>
inline void xlog2x_of(const Real& x, double unit, Integer& out) {
    constexpr std::int64_t kMantissa = (std::int64_t{1} << 52) - 1;
    Integer bits;
    std::memcpy(&bits, &x, sizeof(bits));
    // x = fraction * 2^exponent with the fraction in [1/2, 1), then in [sqrt(1/2), sqrt(2)).
    const Integer fraction_bits = (bits & kMantissa) | (std::int64_t{1022} << 52);
    Real fraction;
    std::memcpy(&fraction, &fraction_bits, sizeof(fraction));
    const auto low = fraction < 0.7071067811865476;
    const Real doubled = fraction * 2.0;
    choose_term(low, doubled, fraction, fraction);
    // The exponent as a double: its bits below those of 2^52.
    const Integer large = (bits >> 52) - 1022 + kToIntegerBits;
    const Integer less = large - 1;
    Integer exponent_bits;
    choose_term(low, less, large, exponent_bits);
    Real exponent;
    std::memcpy(&exponent, &exponent_bits, sizeof(exponent));
    exponent -= kToInteger;
    const Real t = (fraction - 1.0) / (fraction + 1.0);
    const Real square = t * t;
    Real series = square * (1.0 / 21.0) + 1.0 / 19.0;
    series = series * square + 1.0 / 17.0;
    series = series * square + 1.0 / 15.0;
    series = series * square + 1.0 / 13.0;
    series = series * square + 1.0 / 11.0;
    series = series * square + 1.0 / 9.0;
    series = series * square + 1.0 / 7.0;
    series = series * square + 1.0 / 5.0;
    series = series * square + 1.0 / 3.0;
    series = series * square + 1.0;
    const Real log2 = exponent + (t * series) * 2.885390081777927;
    round_to_integer<Real, Integer>(x * log2 * unit, out);
    const Integer zero = {};
    choose_term(x > 1.0, out, zero, out);
}

inline std::int64_t xlog2x_of(double x, double unit) {
    std::int64_t result;
    xlog2x_of<double, std::int64_t>(x, unit, result);
    return result;
}

}  // namespace
}  // namespace topk
