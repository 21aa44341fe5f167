// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "millrace/base/byte_range.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// For each operand, then each result: a range that contains all bytes of its buffer that the nest accesses, for every
/// binding of the symbols. A block of columns of a matrix is a range with rows, which leaves out the gaps between them.
/// If the gaps of an access differ, its range includes them. Absent if no such range is known. No range is known for
/// gathers and padding, because their accesses depend on data or on a comparison. Nor is one known if a size may be 0
/// or has an unknown sign, because the range then has no simple expression.
std::vector<std::optional<ByteRange>> touched_bytes(const LoopKernel&);

}  // namespace millrace
