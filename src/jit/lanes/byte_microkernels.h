// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/microkernel_code.h"

namespace millrace {

// What each microkernel does: src/hal/host/routines/microkernels.inc.

/// Their instructions: a compress of bytes, and a count of bits.
inline constexpr CpuFeatures kByteMicrokernelFeatures = {.vbmi2 = true, .vpopcntdq = true};
inline bool has_byte_microkernels(const TargetSpec& spec) {
  return spec.is_cpu() && spec.isa == IsaLevel::kAvx512 && spec.features.covers(kByteMicrokernelFeatures);
}
MicrokernelCode<SplitBytes> split_bytes_function(IsaLevel);
MicrokernelCode<MakeBitProducts> make_bit_products_function(IsaLevel);
MicrokernelCode<CountBitProducts> count_bit_products_function(IsaLevel);

}  // namespace millrace
