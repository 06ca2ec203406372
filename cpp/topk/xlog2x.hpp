// n * log2(n) in fixed point: the same bits in every kernel, on every machine and in the Python reference.
//
// Only IEEE additions, products and quotients, in the order of the reference (and no fused ones: the core is compiled
// with -ffp-contract=off), so the result does not depend on a library's logarithm. No branches and no calls, so that a
// loop over it can be vectorised.
#pragma once

#include <cstdint>
#include <cstring>

namespace topk {

// x >= 0, a whole number below 2^53; the result is rounded to an integer, below 2^51.
static inline std::int64_t xlog2x_of(double x, double unit) {
    constexpr std::int64_t kMantissa = (std::int64_t{1} << 52) - 1;
    constexpr double kToInteger =
        0x1.8p52;  // added to a double below 2^51, it leaves the nearest integer in the mantissa
    std::int64_t bits;
    std::memcpy(&bits, &x, 8);
    // x = fraction * 2^exponent with the fraction in [1/2, 1), then in [sqrt(1/2), sqrt(2)).
    const std::int64_t fraction_bits = (bits & kMantissa) | (std::int64_t{1022} << 52);
    double fraction;
    std::memcpy(&fraction, &fraction_bits, 8);
    const bool low = fraction < 0.7071067811865476;
    fraction = low ? fraction * 2.0 : fraction;
    // The exponent as a double: its bits below those of 2^52.
    const std::int64_t exponent_bits =
        ((bits >> 52) - 1022 - (low ? 1 : 0)) + (std::int64_t{0x433} << 52) + (std::int64_t{1} << 51);
    double exponent;
    std::memcpy(&exponent, &exponent_bits, 8);
    exponent -= kToInteger;
    const double t = (fraction - 1.0) / (fraction + 1.0);
    const double square = t * t;
    double series = 1.0 / 21.0;
    series = series * square + 1.0 / 19.0;
    series = series * square + 1.0 / 17.0;
    series = series * square + 1.0 / 15.0;
    series = series * square + 1.0 / 13.0;
    series = series * square + 1.0 / 11.0;
    series = series * square + 1.0 / 9.0;
    series = series * square + 1.0 / 7.0;
    series = series * square + 1.0 / 5.0;
    series = series * square + 1.0 / 3.0;
    series = series * square + 1.0;
    const double log2 = exponent + (t * series) * 2.885390081777927;
    const double rounded = x * log2 * unit + kToInteger;
    std::int64_t result;
    std::memcpy(&result, &rounded, 8);
    result -= (std::int64_t{0x433} << 52) + (std::int64_t{1} << 51);
    return x > 1.0 ? result : 0;
}

}  // namespace topk
