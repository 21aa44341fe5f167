// SPDX-License-Identifier: Apache-2.0
#include "jit/llvm_optimize.h"

#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace millrace {

LlvmOptimizer::LlvmOptimizer(llvm::TargetMachine& machine) : builder_(&machine) {
  builder_.registerModuleAnalyses(modules_);
  builder_.registerCGSCCAnalyses(call_graph_);
  builder_.registerFunctionAnalyses(functions_);
  builder_.registerLoopAnalyses(loops_);
  builder_.crossRegisterProxies(loops_, functions_, call_graph_, modules_);
  passes_.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes_.addPass(llvm::EarlyCSEPass());
  passes_.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
  passes_.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true,
                                                        /*UseBlockFrequencyInfo=*/false));
  passes_.addPass(llvm::SimplifyCFGPass());
}

void LlvmOptimizer::run(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) passes_.run(function, functions_);
  }
  // What is known of one kernel must not meet the next, whose functions may have the same address.
  loops_.clear();
  functions_.clear();
  call_graph_.clear();
  modules_.clear();
}

}  // namespace millrace
