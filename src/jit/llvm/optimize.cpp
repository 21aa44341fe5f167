// SPDX-License-Identifier: Apache-2.0
#include "jit/llvm/optimize.h"

#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/ScalarizeMaskedMemIntrin.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace millrace {

namespace {

/// Few: the kernel comes with its loops tiled and its code in vectors.
llvm::ModulePassManager host_passes() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true,
                                                       /*UseBlockFrequencyInfo=*/false));
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  return all;
}

/// The usual ones, to which the target adds its own: they find the kernel's implicit arguments unused, and without them
/// the code object asks the driver for all. A masked access is a branch on a GPU, and the earlier it is one, the more
/// of them are joined.
llvm::ModulePassManager gpu_passes(llvm::PassBuilder& builder) {
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::ScalarizeMaskedMemIntrinPass()));
  all.addPass(builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3));
  return all;
}

}  // namespace

LlvmOptimizer::LlvmOptimizer(llvm::TargetMachine& machine)
    : builder_(&machine), is_gpu_(machine.getTargetTriple().isAMDGPU()) {
  builder_.registerModuleAnalyses(modules_);
  builder_.registerCGSCCAnalyses(call_graph_);
  builder_.registerFunctionAnalyses(functions_);
  builder_.registerLoopAnalyses(loops_);
  builder_.crossRegisterProxies(loops_, functions_, call_graph_, modules_);
}

void LlvmOptimizer::run(llvm::Module& module) {
  // Anew for each kernel: the inliner's part of the usual passes runs only once.
  llvm::ModulePassManager passes = is_gpu_ ? gpu_passes(builder_) : host_passes();
  passes.run(module, modules_);
  // What is known of one kernel must not meet the next, whose functions may have the same address.
  loops_.clear();
  functions_.clear();
  call_graph_.clear();
  modules_.clear();
}

}  // namespace millrace
