// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/lane_function.h"
#include "jit/xbyak/lane_assembler.h"

namespace millrace {

/// Emits a function at the current position, for the C calling convention: arguments in order, the result as i64.
void emit_lanes(LaneAssembler&, const LaneFunction&);

}  // namespace millrace
