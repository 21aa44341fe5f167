// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Like plan_kernel(), without verifying a loop nest. For verified nests, and for nests that algorithms make from them.
Result<PlanOutcome> plan_verified(const Kernel&, const Target&, const CompileKernelOptions&);

}  // namespace millrace
