// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/algorithm.h"
#include "millrace/jit/machine_builder.h"

namespace millrace {

// A row of a tensor is the elements along one axis. Rows are numbered in row-major order of the other dims.

SizeExpr num_rows(const Shape& shape, std::uint32_t axis);

/// The offset (i64) where row `row` (i64) begins. Dims that are contiguous in the layout are merged first, so that
/// finding the rows of a plain matrix needs no division.
MachineValue row_start(MachineBuilder& b, const KernelTensor& tensor, std::uint32_t axis, MachineValue row);

/// The offset of the row's element `position` (i64).
MachineValue row_element(MachineBuilder& b, const KernelTensor& tensor, std::uint32_t axis, MachineValue start,
                         MachineValue position);

}  // namespace millrace
