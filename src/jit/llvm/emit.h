// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <llvm/IR/Module.h>

#include "jit/llvm/target.h"

namespace millrace {

/// A module with one function: the kernel for the target, straight from its structure. Values are SSA from the start
/// (loops and ifs give phis), so nothing has to be found again by analysis.
std::unique_ptr<llvm::Module> emit_llvm_module(llvm::LLVMContext&, const llvm::DataLayout&, const LlvmKernel&,
                                               const LlvmTarget&);

}  // namespace millrace
