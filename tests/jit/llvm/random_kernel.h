// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/jit/machine_kernel.h"

namespace millrace::test {

inline constexpr std::int64_t kRandomKernelElements = 256;  // of each buffer
inline constexpr std::uint32_t kRandomKernelGroups = 3;

struct RandomKernelOptions {
  std::uint32_t seed = 0;
  /// mul_add on floats is rounded once or twice, as the target does; leave it out to compare two targets.
  bool with_float_mul_add = true;
};

/// A verified kernel of every kind of instruction, with loops and branches nested up to three deep, that reads no
/// undefined memory, never leaves its buffers and shows no NaN's bits. Per dtype of a register: an input buffer, then
/// an output buffer. One size argument, "n", from 0 to 3. Groups write to places of their own.
MachineKernel random_kernel(const RandomKernelOptions&);

}  // namespace millrace::test
