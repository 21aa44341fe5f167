// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/lane_function.h"

namespace millrace {

// The functions that src/hal/host/routines/byte_counter.h calls.

/// Whether the target has their instructions: a compress of bytes, and a count of bits.
inline bool has_byte_leaves(const TargetSpec& spec) {
  return spec.is_cpu() && spec.isa == IsaLevel::kAvx512 && spec.features.vbmi2 && spec.features.vpopcntdq;
}
/// SplitBytes.
LaneFunction split_bytes_function(IsaLevel);
/// MakeBitProducts.
LaneFunction make_bit_products_function(IsaLevel);
/// CountBitProducts.
LaneFunction count_bit_products_function(IsaLevel);

}  // namespace millrace
