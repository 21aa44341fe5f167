// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Whether the nest computes the index of an extreme.
bool is_argmax(const LoopKernel&);

/// Plans an argmax or argmin of one operand along contiguous rows as calls of the routine arg_rows. Refuses nests that
/// compute more than that.
Result<PlannedKernel> plan_arg(const LoopKernel&);

/// Emits the functions and sets the routine's parameters. Takes what plan_arg() mapped.
Result<ExecutableImage> emit_arg(const LoopKernel& collapsed, const TargetSpec&);

}  // namespace millrace
