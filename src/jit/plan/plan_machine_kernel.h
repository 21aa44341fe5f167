// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Implements `KernelCompiler::plan` for every generator that emits from a MachineKernel: maps a LoopKernel, verifies
/// the kernel and plans its memory. The key text has no names, so that two layers of a network that differ only in
/// names share their code.
Result<PlannedKernel> plan_machine_kernel(const Kernel&, const TargetSpec&, std::string_view generator);

}  // namespace millrace
