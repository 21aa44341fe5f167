// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// One of the dims that enumerate the rows: its extent, and the stride of each tensor along it.
struct RowDim {
  SizeExpr extent;
  std::vector<SizeExpr> strides;
};
/// All dims except `axis`, outermost first. `strides` has the strides of each tensor, or null for an absent tensor.
/// Adjacent dims are merged if in every tensor their strides are those of a single dim, so that finding a row of a
/// contiguous tensor needs no division.
std::vector<RowDim> row_dims(const std::vector<SizeExpr>& extents, std::size_t axis,
                             const std::vector<const std::vector<SizeExpr>*>& strides);
/// Appends each dim's extent and strides to size arguments.
void append_dims(std::vector<SizeExpr>& sizes, const std::vector<RowDim>&);

/// The rows of an input and of a result. `sizes` are expressions for the RowPairSizes that a launch passes.
struct RowPair {
  RowPair(const KernelTensor& input, const KernelTensor& result, std::size_t axis, const SizeExpr& parts);

  std::vector<SizeExpr> sizes;
  std::int64_t num_dims;  // without the axis
  SizeExpr num_groups;    // one per part of a row
};

/// Begins the plan of a routine. The caller adds the key text and the design that emits the image.
PlannedKernel plan_routine(const std::string& name, const SizeExpr& num_groups, std::vector<SizeExpr> sizes,
                           std::vector<bool> buffer_is_written);
/// Begins the plan of a routine that handles one row, or one part of a row, per group. Refuses more rows than a launch
/// can have groups.
Result<PlannedKernel> plan_row_pair(const std::string& name, const RowPair&, std::vector<bool> buffer_is_written);
/// Appends a slot of workgroup memory, unless `bytes` is 0.
void add_slot(PlannedKernel&, const char* name, std::int64_t bytes);

}  // namespace millrace
