// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/llvm_client/open_module.h"

namespace millrace {

/// Must run before any other use of LLVM's targets. Later calls do nothing.
void initialize_llvm_targets();

/// Emits a kernel. Each thread that emits borrows a JIT for its target and then returns it for reuse.
Status emit_with_jit(const PlannedKernel&, const TargetSpec&, const LlvmEmitOptions&, LlvmEmitOutput&);

}  // namespace millrace
