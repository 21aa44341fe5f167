// SPDX-License-Identifier: Apache-2.0
// AMD GPUs: the entry, memory and barriers. An emitted function runs one thread of one workgroup.
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include "jit/llvm/amdgpu/lanes.h"
#include "jit/llvm/lanewise.h"

namespace millrace {
namespace {

enum AddressSpace : unsigned { kGlobal = 1, kLocal = 3, kPrivate = 5 };

/// The kernel's arguments are the address of the status word, the addresses of the buffers, and the sizes.
llvm::FunctionType* entry_type(llvm::LLVMContext& context, const MachineKernel& kernel) {
  std::vector<llvm::Type*> types(1 + kernel.buffers.size(), llvm::PointerType::get(context, kGlobal));
  types.resize(types.size() + kernel.sizes.size(), llvm::Type::getInt64Ty(context));
  return llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
}

llvm::Function* declare_entry(llvm::Module& module, const LlvmTarget& target, const LlvmKernel& emitted) {
  const MachineKernel& kernel = emitted.kernel;
  auto* function = llvm::Function::Create(entry_type(module.getContext(), kernel), llvm::Function::ExternalLinkage,
                                          emitted.symbol, module);
  function->setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
  function->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  function->setDoesNotThrow();
  function->setDoesNotRecurse();
  function->addFnAttr("target-cpu", target.cpu);
  function->addFnAttr("target-features", target.features);
  function->addFnAttr("no-builtins");  // LLVM must not introduce calls to memcpy or the like
  const std::string threads = std::to_string(kernel.workgroup_size);
  function->addFnAttr("amdgpu-flat-work-group-size", threads + "," + threads);
  function->addFnAttr("uniform-work-group-size", "true");
  for (unsigned i = 0; i < function->arg_size(); ++i) function->addParamAttr(i, llvm::Attribute::NoUndef);
  for (unsigned i = 0; i <= kernel.buffers.size(); ++i) function->addParamAttr(i, llvm::Attribute::NoAlias);
  for (unsigned i = 0; i < kernel.buffers.size(); ++i) {
    const BufferArgument& buffer = kernel.buffers[i];
    if (!buffer.is_written()) function->addParamAttr(i + 1, llvm::Attribute::ReadOnly);
    if (!buffer.is_read()) function->addParamAttr(i + 1, llvm::Attribute::WriteOnly);
  }
  return function;
}

/// One array for all of workgroup memory, so that the code object reserves exactly the planned number of bytes.
llvm::Value* declare_workgroup_memory(llvm::Module& module, const MemoryPlan& plan) {
  if (plan.workgroup_bytes == 0) return nullptr;
  auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), plan.workgroup_bytes);
  auto* memory =
      new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type),
                               "workgroup_memory", nullptr, llvm::GlobalValue::NotThreadLocal, kLocal);
  memory->setAlignment(llvm::Align(64));
  return memory;
}

bool shares_bytes(const PlannedSlot& slot, const MemoryPlan& plan) {
  for (const PlannedSlot& other : plan.slots) {
    if (&other == &slot || other.kind != slot.kind) continue;
    if (other.offset_bytes < slot.offset_bytes + slot.size_bytes &&
        slot.offset_bytes < other.offset_bytes + other.size_bytes) {
      return true;
    }
  }
  return false;
}

/// Allocates the private slots. Each slot gets an array of its own element type: if the indices are variables, LLVM
/// keeps only such arrays in registers. If any slots share bytes in the plan, one byte array holds all slots.
class PrivateMemory {
 public:
  PrivateMemory(llvm::IRBuilder<>& ir, const LlvmKernel& emitted) : ir_(ir), emitted_(emitted) {
    for (const PlannedSlot& slot : emitted.plan.slots) {
      if (slot.kind != MemoryKind::kPrivate || !shares_bytes(slot, emitted.plan)) continue;
      if (shared_ == nullptr) shared_ = allocate(ir.getInt8Ty(), emitted.plan.private_bytes);
    }
  }

  llvm::Value* address(std::size_t slot) {
    const PlannedSlot& planned = emitted_.plan.slots[slot];
    if (shared_ != nullptr) return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), shared_, planned.offset_bytes);
    const MemorySlot& declared = emitted_.kernel.slots[slot];
    return allocate(ir_.getIntNTy(static_cast<unsigned>(size_bytes(declared.dtype) * 8)), declared.num_elements);
  }

 private:
  llvm::Value* allocate(llvm::Type* element, std::uint64_t num_elements) {
    auto* array = ir_.CreateAlloca(llvm::ArrayType::get(element, num_elements), kPrivate);
    array->setAlignment(llvm::Align(16));  // alignment of the widest access
    return array;
  }

  llvm::IRBuilder<>& ir_;
  const LlvmKernel& emitted_;
  llvm::Value* shared_ = nullptr;
};

std::vector<llvm::Value*> place_slots(llvm::Module& module, llvm::IRBuilder<>& ir, const LlvmKernel& emitted) {
  llvm::Value* workgroup_memory = declare_workgroup_memory(module, emitted.plan);
  PrivateMemory private_memory(ir, emitted);
  std::vector<llvm::Value*> slots;
  for (std::size_t i = 0; i < emitted.plan.slots.size(); ++i) {
    const PlannedSlot& slot = emitted.plan.slots[i];
    if (slot.size_bytes == 0) {
      slots.push_back(nullptr);
    } else if (slot.kind == MemoryKind::kPrivate) {
      slots.push_back(private_memory.address(i));
    } else {
      slots.push_back(ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), workgroup_memory, slot.offset_bytes));
    }
  }
  return slots;
}

llvm::Value* emit_thread_id(llvm::IRBuilder<>& ir, std::uint32_t workgroup_size) {
  llvm::CallInst* id = ir.CreateIntrinsic(llvm::Intrinsic::amdgcn_workitem_id_x, {}, {});
  id->setMetadata(llvm::LLVMContext::MD_range,
                  llvm::MDBuilder(ir.getContext()).createRange(llvm::APInt(32, 0), llvm::APInt(32, workgroup_size)));
  return id;
}

void emit_entry(llvm::Module& module, llvm::IRBuilder<>& ir, const LlvmTarget& target, const LlvmKernel& emitted,
                llvm::function_ref<void(const LlvmFrame&)> body) {
  // Version 4 is the lowest code object version with everything that kernels use. Version 5 changes hidden arguments
  // and dynamic stacks.
  module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", 400);
  LlvmFrame frame;
  frame.function = declare_entry(module, target, emitted);
  ir.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", frame.function));
  frame.slots = place_slots(module, ir, emitted);
  llvm::Argument* argument = frame.function->arg_begin();
  frame.status = argument++;
  for (std::size_t i = 0; i < emitted.kernel.buffers.size(); ++i) frame.buffers.push_back(argument++);
  for (std::size_t i = 0; i < emitted.kernel.sizes.size(); ++i) frame.sizes.push_back(argument++);
  frame.group = ir.CreateZExt(ir.CreateIntrinsic(llvm::Intrinsic::amdgcn_workgroup_id_x, {}, {}), ir.getInt64Ty());
  frame.thread = emit_thread_id(ir, emitted.kernel.workgroup_size);
  body(frame);
  ir.CreateRetVoid();
}

/// The fences cover workgroup memory only: on some targets, fences for all memory write back or invalidate caches.
void emit_barrier(llvm::IRBuilder<>& ir) {
  llvm::LLVMContext& context = ir.getContext();
  const auto fence = [&](llvm::AtomicOrdering order) {
    llvm::FenceInst* instruction = ir.CreateFence(order, context.getOrInsertSyncScopeID("workgroup"));
    instruction->setMetadata(
        llvm::LLVMContext::MD_mmra,
        llvm::MDNode::get(context, {llvm::MDString::get(context, "amdgpu-as"), llvm::MDString::get(context, "local")}));
  };
  fence(llvm::AtomicOrdering::Release);
  ir.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_barrier, {}, {});
  fence(llvm::AtomicOrdering::Acquire);
}

LlvmTarget make_target(const GfxTarget& gfx) {
  const bool is_rdna = gfx.generation == GfxGeneration::kRdna;
  return {.triple = "amdgcn-amd-amdhsa",
          .cpu = std::string(gfx.name),
          .tune = "",
          // CU mode: a workgroup stays on one compute unit, so its LDS fences need not reach past it.
          .features = is_rdna ? "+wavefrontsize32,+cumode" : "+wavefrontsize64",
          .vector_width = "",
          .has_fma = true,
          .has_f16c = false,
          .subgroup_size = gfx.subgroup_size,
          .device_scope = "agent",
          .workgroup_scope = "workgroup",
          .emit_entry = emit_entry,
          .emit_barrier = emit_barrier,
          .emit_shuffle = emit_amdgpu_shuffle,
          .emit_shuffle_xor = is_rdna ? emit_rdna_shuffle_xor : emit_cdna_shuffle_xor,
          .emit_ballot = emit_amdgpu_ballot};
}

std::vector<LlvmTarget> make_targets() {
  std::vector<LlvmTarget> targets;
  for (const GfxTarget& gfx : gfx_targets()) targets.push_back(make_target(gfx));
  return targets;
}

}  // namespace

std::span<const LlvmTarget> llvm_amdgpu_targets() {
  static const std::vector<LlvmTarget> kTargets = make_targets();
  return kTargets;
}

}  // namespace millrace
