// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "jit/llvm/target.h"
#include "millrace/jit/kernel_op.h"

namespace millrace {

/// Emits kWidenF16 or kNarrowF16. On a target with F16C the result is a call of a function without a body, which
/// expand_f16() replaces.
llvm::Value* emit_f16(llvm::IRBuilder<>&, const LlvmTarget&, KernelOp, llvm::Value* x);

/// Replaces the calls by LLVM's conversions. Call it after the passes: InstCombine moves operations from the wide side
/// of a conversion to the narrow side, where x86 computes f16 lane by lane, and it removes a pair of conversions that
/// makes a NaN quiet.
void expand_f16(llvm::Module&);

}  // namespace millrace
