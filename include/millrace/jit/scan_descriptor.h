// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// The step of a scan that one kernel performs. If rows are cut into parts, there are two kernels: kTotals, then
/// kParts.
enum class ScanStep : std::uint8_t {
  kRows,    // scans whole rows
  kTotals,  // writes each part's total (scan_total_bytes() bytes), row by row; has no result buffer
  kParts,   // scans each part, using the totals, whose buffer is between input and result
};

/// Describes a running reduction along one axis. 16-bit floats accumulate in f32.
struct ScanDescriptor {
  std::string name;
  KernelTensor input;
  std::optional<LoopKernel> load = {};  // computes the input, like a SortDescriptor's
  KernelTensor result;
  std::uint32_t axis = 0;
  ReductionKind kind = ReductionKind::kSum;
  bool exclusive = false;  // excludes the element itself; the first result is that of an empty reduction
  bool reverse = false;
  ScanStep step = ScanStep::kRows;  // always kRows in a request
  /// The number of parts per row. Parts have nearly equal lengths, which are multiples of 64 except for the last part.
  /// In a request, 1 means that the algorithm chooses the number.
  SizeExpr parts = 1;
};

}  // namespace millrace
