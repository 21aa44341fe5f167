// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// The step of a scan that one kernel does. Rows in parts take two kernels: kTotals, then kParts.
enum class ScanStep : std::uint8_t {
  kRows,    // scans whole rows
  kTotals,  // writes the total of each part, in scan_total_bytes() each, row by row; has no result buffer
  kParts,   // scans each part from those totals, whose buffer is between input and result
};

/// A running reduction along one axis, as data. 16-bit floats accumulate in f32.
struct ScanDescriptor {
  std::string name;
  KernelTensor input;
  std::optional<LoopKernel> load = {};  // computes the input, like a SortDescriptor's
  KernelTensor result;
  std::uint32_t axis = 0;
  ReductionKind kind = ReductionKind::kSum;
  bool exclusive = false;  // excludes the element itself; the first result is an empty reduction's
  bool reverse = false;
  ScanStep step = ScanStep::kRows;  // a request is for whole rows
  /// The parts per row. Their lengths are nearly equal, and multiples of 64 except for the last. In a request, 1 lets
  /// the algorithm choose the number.
  SizeExpr parts = 1;
};

}  // namespace millrace
