// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/algorithm.h"
#include "millrace/jit/machine_builder.h"

namespace millrace {

// The rows of a tensor: its lines along one axis, numbered in the order of the other dims.

SizeExpr num_rows(const Shape& shape, std::uint32_t axis);

/// Where row number `row` (i64) begins: i64. Dims that a layout walks as one are one here, so that the rows of a plain
/// matrix cost no division.
MachineValue row_start(MachineBuilder& b, const KernelTensor& tensor, std::uint32_t axis, MachineValue row);

/// Where the row's element number `position` (i64) stands.
MachineValue row_element(MachineBuilder& b, const KernelTensor& tensor, std::uint32_t axis, MachineValue start,
                         MachineValue position);

}  // namespace millrace
