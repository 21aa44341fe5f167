// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "hal/host/routines/sort_rows.h"
#include "millrace/jit/sort_descriptor.h"

namespace millrace {

/// The tensors of a sort in the order of SortTensor; null if absent.
std::array<const KernelTensor*, kNumSortTensors> tensors_of(const SortDescriptor&);

/// A dim that numbers rows: its extent and each tensor's stride, 0 if it is absent.
struct RowDim {
  SizeExpr extent;
  std::array<SizeExpr, kNumSortTensors> strides;
};
/// All dims except the axis, outermost first. Neighbours that every tensor walks like one are one, so that rows of a
/// plain tensor need no division.
std::vector<RowDim> row_dims(const SortDescriptor&);

/// The bytes of a ColumnBlock (src/hal/host/routines/column_block.h) of the input's rows, and of the results' if
/// `moves_results`. 0 if all rows are contiguous, or if not one row fits `most`.
std::int64_t column_block_bytes(const SortDescriptor&, bool moves_results, std::int64_t most);

}  // namespace millrace
