// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>

namespace millrace {

/// The LLVM passes for kernels. Their analyses are set up once per target machine. Not thread-safe.
class LlvmOptimizer {
 public:
  explicit LlvmOptimizer(llvm::TargetMachine&);
  void run(llvm::Module&);

 private:
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager call_graph_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
  bool is_gpu_;
};

/// The effort of instruction selection, scheduling and register allocation after these passes.
inline constexpr llvm::CodeGenOptLevel kLlvmCodeGenLevel = llvm::CodeGenOptLevel::Default;

}  // namespace millrace
