// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "millrace/base/byte_range.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// For each operand, then each result: bytes of its buffer outside which the nest touches nothing, whatever a run
/// binds. Columns of a matrix are a range with rows. An access whose gaps differ has a range that includes them. Absent
/// where no such range is known: for gathers and padding, which touch what the data or a comparison decides, and where
/// a size that may be 0, or of which the sign is not known, does not allow a simple expression.
std::vector<std::optional<ByteRange>> touched_bytes(const LoopKernel&);

}  // namespace millrace
