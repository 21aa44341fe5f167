// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Plans an argmax or argmin along contiguous rows as calls of the routine arg_rows.
Result<PlannedKernel> plan_arg(const ArgDescriptor&);

/// Emits the functions and sets the routine's parameters.
Result<ExecutableImage> emit_arg(const ArgDescriptor&, const TargetSpec&);

}  // namespace millrace
