// Instruction sets that the processor has and the operating system lets programs use; false except on x86-64.
#pragma once

namespace topk {

bool processor_has_avx2();    // with BMI2 and POPCNT
bool processor_has_avx512();  // F, BW, DQ, VL and VPOPCNTDQ, in addition to the above

}  // namespace topk
