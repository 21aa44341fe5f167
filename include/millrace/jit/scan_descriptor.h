// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// A running reduction along one axis, as data. 16-bit floats accumulate in f32.
struct ScanDescriptor {
  std::string name;
  KernelTensor input;
  std::optional<LoopKernel> load = {};  // computes the input, like a SortDescriptor's
  KernelTensor result;
  std::uint32_t axis = 0;
  ReductionKind kind = ReductionKind::kSum;
  bool exclusive = false;  // excludes the element itself; the first result is that of an empty reduction
  bool reverse = false;
};

}  // namespace millrace
