// Compilers for Unix have a builtin for this; on Windows the processor itself is asked.
#include "topk/kernels/processor.hpp"

#if defined(_WIN32)
#include <immintrin.h>
#include <intrin.h>

#include <cstdint>
#endif

namespace topk {

#if !defined(__x86_64__) && !defined(_M_X64)

bool processor_has_avx2() { return false; }
bool processor_has_avx512() { return false; }

#elif defined(_WIN32)

namespace {

// Bits of the registers that cpuid fills, from Intel's manual, volume 2A.
struct Features {
    std::uint32_t basic = 0;   // leaf 1, ecx
    std::uint32_t vector = 0;  // leaf 7, ebx
    std::uint32_t more = 0;    // leaf 7, ecx
    std::uint64_t saved = 0;   // registers that the system saves: xcr0
};

constexpr std::uint32_t bit(int i) { return std::uint32_t{1} << i; }

constexpr std::uint32_t kPopcnt = bit(23);
constexpr std::uint32_t kOsxsave = bit(27);
constexpr std::uint32_t kAvx2 = bit(3) | bit(5) | bit(8);                           // BMI1, AVX2, BMI2
constexpr std::uint32_t kAvx512 = bit(16) | bit(17) | bit(28) | bit(30) | bit(31);  // F, DQ, CD, BW, VL
constexpr std::uint32_t kVpopcntdq = bit(14);
constexpr std::uint64_t kYmm = bit(1) | bit(2);
constexpr std::uint64_t kZmm = kYmm | bit(5) | bit(6) | bit(7);

Features ask() {
    Features features;
    int registers[4] = {};  // eax, ebx, ecx, edx
    __cpuid(registers, 0);
    if (registers[0] < 7) {
        return features;
    }
    __cpuid(registers, 1);
    features.basic = static_cast<std::uint32_t>(registers[2]);
    __cpuidex(registers, 7, 0);
    features.vector = static_cast<std::uint32_t>(registers[1]);
    features.more = static_cast<std::uint32_t>(registers[2]);
    if ((features.basic & kOsxsave) != 0) {
        features.saved = _xgetbv(0);
    }
    return features;
}

bool has_avx2(const Features& f) {
    return (f.basic & kPopcnt) != 0 && (f.vector & kAvx2) == kAvx2 && (f.saved & kYmm) == kYmm;
}

}  // namespace

bool processor_has_avx2() { return has_avx2(ask()); }

bool processor_has_avx512() {
    const Features f = ask();
    return has_avx2(f) && (f.vector & kAvx512) == kAvx512 && (f.more & kVpopcntdq) != 0 && (f.saved & kZmm) == kZmm;
}

#else

bool processor_has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"); }

bool processor_has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vpopcntdq");
}

#endif

}  // namespace topk
