// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// `KernelCompiler::plan` of every generator that emits from a MachineKernel: maps a LoopKernel, checks the kernel,
/// plans its memory. Names are left out of the key text, so two layers of one network that differ in nothing else
/// share their code.
Result<PlannedKernel> plan_machine_kernel(const Kernel&, const TargetSpec&, std::string_view generator);

}  // namespace millrace
