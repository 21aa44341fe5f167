// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "millrace/base/byte_range.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// For each operand, then each result: a range of bytes of its buffer outside which the nest touches nothing, for every
/// binding. Columns of a matrix are a range with rows. If the gaps of an access differ, its range includes them. Absent
/// if no such range is known: for gathers and padding, whose accesses depend on the data or on a comparison, and if a
/// size may be 0 or has an unknown sign, which allows no simple expression.
std::vector<std::optional<ByteRange>> touched_bytes(const LoopKernel&);

}  // namespace millrace
