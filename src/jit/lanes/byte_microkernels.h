// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/sort/byte_counter.h"
#include "jit/lanes/microkernel_sink.h"

namespace millrace {

/// The CPU features that a ByteCounter's microkernels need: VBMI2 to compress bytes, VPOPCNTDQ to count bits.
inline constexpr CpuFeatures kByteMicrokernelFeatures = {.vbmi2 = true, .vpopcntdq = true};
inline bool has_byte_microkernels(const TargetSpec& spec) {
  return spec.is_cpu() && spec.isa == IsaLevel::kAvx512 && spec.features.covers(kByteMicrokernelFeatures);
}
ByteCounterCode append_byte_counter(const MicrokernelSink&);

}  // namespace millrace
