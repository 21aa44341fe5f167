// SPDX-License-Identifier: Apache-2.0
// Emits LLVM IR for loads, stores, atomics and error reports, with the alias metadata of buffers and slots.
#include "jit/llvm/memory.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include "jit/llvm/lanewise.h"

namespace millrace {
namespace {

using llvm::Value;

/// Wraps a scalar into a vector of one lane, which the masked intrinsics need.
Value* as_vector(llvm::IRBuilder<>& ir, Value* value) {
  if (value->getType()->isVectorTy()) return value;
  auto* type = llvm::FixedVectorType::get(value->getType(), 1);
  return ir.CreateInsertElement(llvm::PoisonValue::get(type), value, std::uint64_t{0});
}

/// Unwraps a vector of one lane if `like` is a scalar.
Value* as_register(llvm::IRBuilder<>& ir, Value* vector, Value* like) {
  return like->getType()->isVectorTy() ? vector : ir.CreateExtractElement(vector, std::uint64_t{0});
}

/// bool is i1 in registers, and a byte 0 or 1 in memory.
llvm::Type* stored_type(llvm::Type* type) {
  if (!type->getScalarType()->isIntegerTy(1)) return type;
  llvm::Type* byte = llvm::Type::getInt8Ty(type->getContext());
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector ? llvm::FixedVectorType::get(byte, vector->getNumElements()) : byte;
}

Value* to_stored(llvm::IRBuilder<>& ir, Value* value) {
  llvm::Type* type = stored_type(value->getType());
  return type == value->getType() ? value : ir.CreateZExt(value, type);
}

Value* from_stored(llvm::IRBuilder<>& ir, Value* value, llvm::Type* type) {
  return type == value->getType() ? value : ir.CreateICmpNE(value, llvm_zero(value->getType()));
}

llvm::Align element_align(const LlvmMemory& memory) { return llvm::Align(size_bytes(memory.dtype)); }

/// The address is not computed as `inbounds`, because the offset of a lane that is masked off may be anywhere.
Value* address(llvm::IRBuilder<>& ir, const LlvmMemory& memory, Value* offset) {
  llvm::Type* element = llvm::Type::getIntNTy(ir.getContext(), static_cast<unsigned>(size_bytes(memory.dtype) * 8));
  return ir.CreateGEP(element, memory.base, offset);
}

template <class Access>
Access* annotate(const LlvmMemory& memory, Access* access) {
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, memory.scope);
  access->setMetadata(llvm::LLVMContext::MD_noalias, memory.no_alias);
  return access;
}

/// Whether two slots of one kind share bytes in the plan.
bool overlap(const PlannedSlot& a, const PlannedSlot& b) {
  return a.kind == b.kind && a.offset_bytes < b.offset_bytes + b.size_bytes &&
         b.offset_bytes < a.offset_bytes + a.size_bytes;
}

}  // namespace

LlvmMemories::LlvmMemories(llvm::LLVMContext& context, const LlvmKernel& emitted, const LlvmTarget& target)
    : num_buffers_(emitted.kernel.buffers.size()) {
  const MemoryPlan& plan = emitted.plan;
  const auto device = context.getOrInsertSyncScopeID(target.device_scope);
  const auto workgroup = context.getOrInsertSyncScopeID(target.workgroup_scope);
  for (const BufferArgument& buffer : emitted.kernel.buffers) {
    memories_.push_back({.dtype = buffer.dtype, .sync_scope = device});
  }
  for (const MemorySlot& slot : emitted.kernel.slots) {
    memories_.push_back({.dtype = slot.dtype, .sync_scope = workgroup});
  }
  llvm::MDBuilder metadata(context);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain(kLlvmEntryName);
  std::vector<llvm::Metadata*> scopes;
  for (std::size_t i = 0; i < memories_.size(); ++i) scopes.push_back(metadata.createAnonymousAliasScope(domain));
  for (std::size_t i = 0; i < memories_.size(); ++i) {
    std::vector<llvm::Metadata*> others;
    for (std::size_t j = 0; j < memories_.size(); ++j) {
      const bool both_slots = i >= num_buffers_ && j >= num_buffers_;
      const bool shares = i == j || (both_slots && overlap(plan.slots[i - num_buffers_], plan.slots[j - num_buffers_]));
      if (!shares) others.push_back(scopes[j]);
    }
    memories_[i].scope = llvm::MDNode::get(context, {scopes[i]});
    memories_[i].no_alias = llvm::MDNode::get(context, others);
  }
}

void LlvmMemories::bind(const LlvmFrame& frame) {
  for (std::size_t i = 0; i < frame.buffers.size(); ++i) memories_[i].base = frame.buffers[i];
  for (std::size_t i = 0; i < frame.slots.size(); ++i) memories_[num_buffers_ + i].base = frame.slots[i];
}

Value* emit_load(llvm::IRBuilder<>& ir, const LlvmMemory& memory, const VectorType& result, Value* offset) {
  llvm::Type* type = llvm_type(ir.getContext(), result);
  Value* pointer = address(ir, memory, offset);
  auto* load = ir.CreateAlignedLoad(stored_type(type), pointer, element_align(memory));
  return from_stored(ir, annotate(memory, load), type);
}

void emit_store(llvm::IRBuilder<>& ir, const LlvmMemory& memory, Value* offset, Value* value) {
  annotate(memory, ir.CreateAlignedStore(to_stored(ir, value), address(ir, memory, offset), element_align(memory)));
}

Value* emit_load_masked(llvm::IRBuilder<>& ir, const LlvmMemory& memory, Value* offset, Value* mask, Value* other) {
  Value* stored_other = as_vector(ir, to_stored(ir, other));
  Value* load = annotate(memory, ir.CreateMaskedLoad(stored_other->getType(), address(ir, memory, offset),
                                                     element_align(memory), as_vector(ir, mask), stored_other));
  return from_stored(ir, as_register(ir, load, other), other->getType());
}

void emit_store_masked(llvm::IRBuilder<>& ir, const LlvmMemory& memory, Value* offset, Value* mask, Value* value) {
  Value* stored = as_vector(ir, to_stored(ir, value));
  annotate(memory,
           ir.CreateMaskedStore(stored, address(ir, memory, offset), element_align(memory), as_vector(ir, mask)));
}

Value* emit_gather(llvm::IRBuilder<>& ir, const LlvmMemory& memory, Value* offsets, Value* mask, Value* other) {
  Value* stored_other = as_vector(ir, to_stored(ir, other));
  Value* pointers = address(ir, memory, as_vector(ir, offsets));
  Value* gathered = annotate(memory, ir.CreateMaskedGather(stored_other->getType(), pointers, element_align(memory),
                                                           as_vector(ir, mask), stored_other));
  return from_stored(ir, as_register(ir, gathered, other), other->getType());
}

void emit_scatter(llvm::IRBuilder<>& ir, const LlvmMemory& memory, Value* offsets, Value* mask, Value* value) {
  // The intrinsic writes lanes from the lowest to the highest, so the highest wins.
  Value* pointers = address(ir, memory, as_vector(ir, offsets));
  annotate(memory, ir.CreateMaskedScatter(as_vector(ir, to_stored(ir, value)), pointers, element_align(memory),
                                          as_vector(ir, mask)));
}

Value* emit_atomic(llvm::IRBuilder<>& ir, const LlvmMemory& memory, KernelOp op, Value* offset, Value* value) {
  using Rmw = llvm::AtomicRMWInst;
  Rmw::BinOp what = Rmw::Add;
  if (op == KernelOp::kAtomicMin) what = is_signed(memory.dtype) ? Rmw::Min : Rmw::UMin;
  if (op == KernelOp::kAtomicMax) what = is_signed(memory.dtype) ? Rmw::Max : Rmw::UMax;
  if (op == KernelOp::kAtomicOr) what = Rmw::Or;
  if (op == KernelOp::kAtomicExchange) what = Rmw::Xchg;
  return annotate(memory, ir.CreateAtomicRMW(what, address(ir, memory, offset), value, element_align(memory),
                                             llvm::AtomicOrdering::Monotonic, memory.sync_scope));
}

void emit_report_error(llvm::IRBuilder<>& ir, const LlvmTarget& target, Value* status, Value* condition,
                       std::uint32_t error) {
  Value* any = condition;
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(condition->getType())) {
    llvm::Type* bits = ir.getIntNTy(vector->getNumElements());
    any = ir.CreateICmpNE(ir.CreateBitCast(condition, bits), llvm_zero(bits));
  }
  llvm::Function* function = ir.GetInsertBlock()->getParent();
  auto* report = llvm::BasicBlock::Create(ir.getContext(), "report", function);
  auto* after = llvm::BasicBlock::Create(ir.getContext(), "after_report", function);
  llvm::MDNode* unlikely = llvm::MDBuilder(ir.getContext()).createUnlikelyBranchWeights();
  ir.CreateCondBr(any, report, after, unlikely);
  ir.SetInsertPoint(report);
  ir.CreateAtomicRMW(llvm::AtomicRMWInst::Or, status, ir.getInt32(error), llvm::Align(4),
                     llvm::AtomicOrdering::Monotonic, ir.getContext().getOrInsertSyncScopeID(target.device_scope));
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
}

}  // namespace millrace
