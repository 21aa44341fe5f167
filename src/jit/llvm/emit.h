// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <llvm/IR/Module.h>

#include "jit/llvm/target.h"

namespace millrace {

/// Emits a module with one function, the kernel for the target, in one walk over its structure. Values are in SSA form
/// from the start (loops and ifs become phis), so no pass has to construct it.
std::unique_ptr<llvm::Module> emit_llvm_module(llvm::LLVMContext&, const llvm::DataLayout&, const LlvmKernel&,
                                               const LlvmTarget&);

}  // namespace millrace
