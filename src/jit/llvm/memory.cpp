// SPDX-License-Identifier: Apache-2.0
// Emits LLVM IR for loads, stores, atomics and error reports, with the alias metadata of buffers and slots.
#include "jit/llvm/memory.h"

#include <algorithm>

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include "jit/llvm/lanewise.h"
#include "millrace/hal/buffer.h"

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

/// The first of `offsets` if they are first, first + 2, first + 4, ...; otherwise null.
Value* first_of_every_second(Value* offsets) {
  Value* splat = nullptr;
  llvm::Constant* steps = nullptr;
  using namespace llvm::PatternMatch;
  if (!match(offsets, m_c_Add(m_Value(splat), m_Constant(steps)))) return nullptr;
  const auto lanes = llvm::cast<llvm::FixedVectorType>(offsets->getType())->getNumElements();
  for (unsigned i = 0; i < lanes; ++i) {
    const auto* step = llvm::dyn_cast_or_null<llvm::ConstantInt>(steps->getAggregateElement(i));
    if (step == nullptr || step->getZExtValue() != 2 * i) return nullptr;
  }
  return const_cast<Value*>(llvm::getSplatValue(splat));
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

void StreamingStores::emit(llvm::IRBuilder<>& ir, const LlvmFrame& frame, const LlvmMemory& memory, Value* offset,
                           Value* value) {
  if (frame.streams == nullptr) return emit_store(ir, memory, offset, value);
  if (after_ == nullptr || ir.GetInsertBlock() != after_ || !after_->empty()) branch(ir, frame);
  ir.SetInsertPoint(branch_);
  value = to_stored(ir, value);
  const std::uint64_t bytes = value->getType()->getPrimitiveSizeInBits() / 8;
  for (llvm::BasicBlock* path : branch_->successors()) {
    ir.SetInsertPoint(path->getTerminator());
    const bool streams = path == branch_->getSuccessor(0);
    const llvm::Align align =
        streams ? llvm::Align(std::min<std::uint64_t>(bytes, Buffer::kAlignment)) : element_align(memory);
    auto* store = annotate(memory, ir.CreateAlignedStore(value, address(ir, memory, offset), align));
    if (!streams) continue;
    llvm::Metadata* one = llvm::ConstantAsMetadata::get(ir.getInt32(1));
    store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(ir.getContext(), one));
  }
  ir.SetInsertPoint(after_);
}

void StreamingStores::branch(llvm::IRBuilder<>& ir, const LlvmFrame& frame) {
  const auto new_block = [&](const char* name) {
    return llvm::BasicBlock::Create(ir.getContext(), name, frame.function);
  };
  llvm::BasicBlock* streaming = new_block("streaming");
  llvm::BasicBlock* plain = new_block("plain");
  after_ = new_block("stored");
  branch_ = ir.CreateCondBr(frame.streams, streaming, plain);
  for (llvm::BasicBlock* path : {streaming, plain}) {
    ir.SetInsertPoint(path);
    ir.CreateBr(after_);
  }
  ir.SetInsertPoint(after_);
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

namespace {

/// Loads every second element from `first` on, by two loads: the even lanes of the first, and the odd lanes of the
/// second, which begins one element early, so that nothing behind the last element is touched.
Value* load_every_second(llvm::IRBuilder<>& ir, const LlvmMemory& memory, Value* first, Value* mask, Value* other) {
  auto* type = llvm::cast<llvm::FixedVectorType>(other->getType());
  const int lanes = static_cast<int>(type->getNumElements());
  std::vector<int> even(lanes, lanes), odd(lanes, lanes), picked(lanes);  // lane `lanes` is false
  for (int i = 0; i < lanes / 2; ++i) {
    even[2 * i] = i;
    odd[2 * i + 1] = lanes / 2 + i;
    picked[i] = 2 * i;
    picked[lanes / 2 + i] = lanes + 2 * i + 1;
  }
  const bool is_whole = llvm::PatternMatch::match(mask, llvm::PatternMatch::m_AllOnes());
  const auto load = [&](Value* offset, llvm::ArrayRef<int> lanes_of_mask) -> Value* {
    Value* pointer = address(ir, memory, offset);
    if (is_whole) return annotate(memory, ir.CreateAlignedLoad(type, pointer, element_align(memory)));
    Value* spread = ir.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), lanes_of_mask);
    return annotate(memory, ir.CreateMaskedLoad(type, pointer, element_align(memory), spread, other));
  };
  Value* low = load(first, even);
  Value* high = load(ir.CreateAdd(first, llvm::ConstantInt::get(first->getType(), lanes - 1)), odd);
  Value* all = ir.CreateShuffleVector(low, high, picked);
  return is_whole ? all : ir.CreateSelect(mask, all, other);
}

}  // namespace

Value* emit_gather(llvm::IRBuilder<>& ir, const LlvmTarget& target, const LlvmMemory& memory, Value* offsets,
                   Value* mask, Value* other) {
  Value* stored_other = as_vector(ir, to_stored(ir, other));
  const bool is_constant_mask = llvm::isa<llvm::Constant>(mask);
  const bool has_masked_load = target.has_fma && size_bytes(memory.dtype) >= 4;
  if (target.subgroup_size == 1 && offsets->getType()->isVectorTy() && (is_constant_mask || has_masked_load)) {
    if (Value* first = first_of_every_second(offsets)) {
      return from_stored(ir, load_every_second(ir, memory, first, mask, stored_other), other->getType());
    }
  }
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
