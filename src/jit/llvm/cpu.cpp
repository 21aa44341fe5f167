// SPDX-License-Identifier: Apache-2.0
// Emits code for the host, where workgroups and subgroups have one thread.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include "jit/llvm/target.h"
#include "millrace/hal/host_kernel.h"

namespace millrace {
namespace {

/// void(const KernelArgs*, i32 first, i32 end)
llvm::Function* declare_entry(llvm::Module& module, const LlvmTarget& target, const std::string& symbol) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* i32 = llvm::Type::getInt32Ty(context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, i32, i32}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
  function->setDoesNotThrow();
  function->setDoesNotRecurse();
  function->addFnAttr("target-cpu", target.cpu);
  function->addFnAttr("tune-cpu", target.tune);
  function->addFnAttr("prefer-vector-width", target.vector_width);
  function->addFnAttr("no-builtins");  // LLVM must not introduce calls to memcpy or the like
  for (unsigned i = 0; i < 3; ++i) function->addParamAttr(i, llvm::Attribute::NoUndef);
  function->addParamAttr(0, llvm::Attribute::ReadOnly);
  return function;
}

/// Loads field `index` of an array of 8-byte values. Arguments do not change while a kernel runs.
llvm::Value* load_argument(llvm::IRBuilder<>& ir, llvm::Type* type, llvm::Value* base, std::uint64_t index) {
  llvm::Value* address = ir.CreateConstInBoundsGEP1_64(ir.getInt64Ty(), base, index);
  llvm::LoadInst* load = ir.CreateAlignedLoad(type, address, llvm::Align(8));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(ir.getContext(), {}));
  return load;
}

llvm::Value* allocate_private(llvm::IRBuilder<>& ir, const MemoryPlan& plan) {
  if (plan.private_bytes == 0) return nullptr;
  auto* block = ir.CreateAlloca(llvm::ArrayType::get(ir.getInt8Ty(), plan.private_bytes));
  block->setAlignment(llvm::Align(64));
  return block;
}

/// A host thread runs workgroups [first, end) one after another. Offsets follow KernelArgs (hal/host_kernel.h).
void emit_entry(llvm::Module& module, llvm::IRBuilder<>& ir, const LlvmTarget& target, const LlvmKernel& emitted,
                llvm::function_ref<void(const LlvmFrame&)> body) {
  const MachineKernel& kernel = emitted.kernel;
  LlvmFrame frame;
  frame.function = declare_entry(module, target, emitted.symbol);
  llvm::LLVMContext& context = module.getContext();
  auto* entry = llvm::BasicBlock::Create(context, "entry", frame.function);
  auto* group_loop = llvm::BasicBlock::Create(context, "group", frame.function);
  ir.SetInsertPoint(entry);
  llvm::Value* private_memory = allocate_private(ir, emitted.plan);
  llvm::Value* args = frame.function->getArg(0);
  llvm::Type* pointer = ir.getPtrTy();
  frame.status = load_argument(ir, pointer, args, 0);
  llvm::Value* workgroup_memory = load_argument(ir, pointer, args, 1);
  llvm::Value* buffers = load_argument(ir, pointer, args, 2);
  llvm::Value* sizes = load_argument(ir, pointer, args, 3);
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
    frame.buffers.push_back(load_argument(ir, pointer, buffers, i));
  }
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) {
    frame.sizes.push_back(load_argument(ir, ir.getInt64Ty(), sizes, i));
  }
  frame.streams = ir.CreateIsNotNull(load_argument(ir, ir.getInt64Ty(), args, offsetof(KernelArgs, streams) / 8));
  for (const PlannedSlot& slot : emitted.plan.slots) {
    llvm::Value* block = slot.kind == MemoryKind::kPrivate ? private_memory : workgroup_memory;
    frame.slots.push_back(
        slot.size_bytes == 0 ? nullptr : ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), block, slot.offset_bytes));
  }
  llvm::Value* first = frame.function->getArg(1);
  llvm::Value* end = frame.function->getArg(2);
  auto* exit = llvm::BasicBlock::Create(context, "exit", frame.function);
  ir.CreateCondBr(ir.CreateICmpULT(first, end), group_loop, exit);

  ir.SetInsertPoint(group_loop);
  llvm::PHINode* group = ir.CreatePHI(ir.getInt32Ty(), 2);
  group->addIncoming(first, entry);
  frame.group = ir.CreateZExt(group, ir.getInt64Ty());
  frame.thread = ir.getInt32(0);
  body(frame);
  llvm::Value* next = ir.CreateNUWAdd(group, ir.getInt32(1));
  group->addIncoming(next, ir.GetInsertBlock());
  ir.CreateCondBr(ir.CreateICmpULT(next, end), group_loop, exit);
  exit->moveAfter(ir.GetInsertBlock());
  ir.SetInsertPoint(exit);
  ir.CreateRetVoid();
}

/// Emits nothing: with one thread per workgroup, program order is enough.
void emit_barrier(llvm::IRBuilder<>&) {}

llvm::Value* emit_shuffle(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* value, llvm::Value*) { return value; }

llvm::Value* emit_shuffle_xor(llvm::IRBuilder<>&, const LlvmTarget&, llvm::Value* value, std::uint32_t) {
  return value;
}

llvm::Value* emit_ballot(llvm::IRBuilder<>& ir, const LlvmTarget&, llvm::Value* flag) {
  return ir.CreateZExt(flag, ir.getInt64Ty());
}

LlvmTarget make_target(const char* cpu, const char* tune, const char* vector_width, bool is_v3) {
  return {.triple = "x86_64-unknown-linux-gnu",
          .cpu = cpu,
          .tune = tune,
          .features = "",
          .vector_width = vector_width,
          .has_fma = is_v3,
          .has_f16c = is_v3,
          .subgroup_size = 1,
          .device_scope = "",
          .workgroup_scope = "",
          .emit_entry = emit_entry,
          .emit_barrier = emit_barrier,
          .emit_shuffle = emit_shuffle,
          .emit_shuffle_xor = emit_shuffle_xor,
          .emit_ballot = emit_ballot};
}

}  // namespace

std::span<const LlvmTarget> llvm_cpu_targets(CpuTune tune) {
  static const LlvmTarget kGeneric[] = {
      make_target("x86-64-v2", "x86-64-v2", "128", false),
      make_target("x86-64-v3", "znver3", "256", true),
      make_target("x86-64-v4", "znver4", "512", true),
  };
  static const LlvmTarget kIntel[] = {
      make_target("x86-64-v2", "skylake", "128", false),
      make_target("x86-64-v3", "skylake", "256", true),
      make_target("x86-64-v4", "sapphirerapids", "512", true),
  };
  return tune == CpuTune::kIntel ? std::span(kIntel) : std::span(kGeneric);
}

}  // namespace millrace
