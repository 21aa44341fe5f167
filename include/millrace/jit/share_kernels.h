// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Makes one kernel of 16 or more in a program that are equal but for numbers (offsets, extents, constants of their
/// bodies): the numbers in which they differ become size arguments, which each launch gives. Fewer keep theirs, since
/// the code of so few takes a tenth of a second, and code for a constant is never slower. Divisors and shift counts,
/// which choose instructions, stay constants unless there are more than 64 sets of them. Results are equal bit for bit.
/// Left alone are kernels of generators that emit no code, or that do not plan from a MachineKernel.
/// O(instructions * log(kernels)).
void share_kernels(std::span<PlannedKernel* const> kernels, const Target&);

}  // namespace millrace
