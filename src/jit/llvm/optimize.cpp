// SPDX-License-Identifier: Apache-2.0
// The LLVM passes that run on a kernel: a few on CPUs, the standard pipeline on GPUs.
#include "jit/llvm/optimize.h"

#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/ScalarizeMaskedMemIntrin.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "jit/llvm/float16.h"

namespace millrace {

namespace {

/// A few passes are enough, because the kernel's loops are already tiled and its code is vectorised.
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

/// The standard pipeline, with the passes that the target adds. The target's passes find that the kernel's implicit
/// arguments are unused; without them, the code object would request all implicit arguments from the driver. On a GPU,
/// a masked access becomes a branch; expanding masked accesses early lets LLVM merge more branches.
llvm::ModulePassManager gpu_passes(llvm::PassBuilder& builder) {
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::ScalarizeMaskedMemIntrinPass()));
  all.addPass(builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3));
  return all;
}

/// Hides `0 - x` from its users. LLVM's AMDGPU back end takes it for -x where an instruction can negate its operand
/// (SelectVOP3ModsImpl: "fold fsub [+-]0 into fneg"), but for x = 0 it is +0, not -0.
void hide_subtractions_from_zero(llvm::Module& module) {
  std::vector<llvm::Instruction*> found;
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        const bool is_subtraction = instruction.getOpcode() == llvm::Instruction::FSub;
        if (is_subtraction && llvm::PatternMatch::match(instruction.getOperand(0), llvm::PatternMatch::m_PosZeroFP())) {
          found.push_back(&instruction);
        }
      }
    }
  }
  for (llvm::Instruction* const subtraction : found) {
    // Empty assembly that takes a value and gives the same. (llvm.arithmetic.fence fails for uniform values.)
    llvm::Type* const type = subtraction->getType();
    llvm::InlineAsm* const same =
        llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false), "", "=v,0", /*hasSideEffects=*/false);
    llvm::IRBuilder<> builder(subtraction->getNextNode());
    llvm::CallInst* const hidden = builder.CreateCall(same, {subtraction});
    subtraction->replaceAllUsesWith(hidden);
    hidden->setArgOperand(0, subtraction);
  }
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
  // Built anew for each kernel, because the inliner in the standard pipeline can run only once.
  llvm::ModulePassManager passes = is_gpu_ ? gpu_passes(builder_) : host_passes();
  passes.run(module, modules_);
  expand_f16(module);
  if (is_gpu_) hide_subtractions_from_zero(module);
  // Analyses are cached by the address of a function. Without this, a function of the next kernel at the same address
  // would get the analyses of this kernel.
  loops_.clear();
  functions_.clear();
  call_graph_.clear();
  modules_.clear();
}

}  // namespace millrace
