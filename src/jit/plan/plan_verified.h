// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// plan_kernel() without its verification of a loop nest, for verified nests and the nests that algorithms make of
/// them.
Result<PlanOutcome> plan_verified(const Kernel&, const Target&, const CompileKernelOptions&);

}  // namespace millrace
