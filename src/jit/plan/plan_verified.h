// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// plan_kernel() without its verification of a loop nest, for nests of verified requests and what algorithms make of
/// them.
Result<PlanOutcome> plan_verified(const Kernel&, const Target&, const CompileKernelOptions&);

}  // namespace millrace
