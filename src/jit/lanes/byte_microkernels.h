// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/lane_function.h"

namespace millrace {

// The microkernels that src/hal/host/routines/byte_counter.h calls.

/// Their instructions: a compress of bytes, and a count of bits.
inline constexpr CpuFeatures kByteMicrokernelFeatures = {.vbmi2 = true, .vpopcntdq = true};
inline bool has_byte_microkernels(const TargetSpec& spec) {
  return spec.is_cpu() && spec.isa == IsaLevel::kAvx512 && spec.features.covers(kByteMicrokernelFeatures);
}
/// SplitBytes.
LaneFunction split_bytes_function(IsaLevel);
/// MakeBitProducts.
LaneFunction make_bit_products_function(IsaLevel);
/// CountBitProducts.
LaneFunction count_bit_products_function(IsaLevel);

}  // namespace millrace
