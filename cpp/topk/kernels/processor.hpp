// What the processor can do and the operating system lets programs use; asked only on x86-64.
#pragma once

namespace topk {

bool processor_has_avx2();    // and BMI2, POPCNT
bool processor_has_avx512();  // F, BW, DQ, VL and VPOPCNTDQ, beside what AVX2 comes with

}  // namespace topk
