// SPDX-License-Identifier: Apache-2.0
// Emits LLVM IR for a machine kernel in one walk over its blocks. All differences between targets are in LlvmTarget.
#include "jit/llvm/emit.h"

#include <algorithm>
#include <limits>

#include <llvm/IR/IRBuilder.h>

#include "jit/ir/subgroup_flow.h"
#include "jit/ir/value_bounds.h"
#include "jit/llvm/amdgpu/lines.h"
#include "jit/llvm/float16.h"
#include "jit/llvm/lanewise.h"
#include "jit/llvm/memory.h"

namespace millrace {
namespace {

using llvm::Value;

/// Walks the kernel's blocks once.
class KernelWalk {
 public:
  KernelWalk(llvm::Module& module, const LlvmKernel& emitted, const LlvmTarget& target)
      : context_(module.getContext()),
        kernel_(emitted.kernel),
        target_(target),
        ir_(context_),
        memories_(context_, emitted, target),
        values_(kernel_.types.size()),
        flow_(analyze_subgroup_flow(kernel_)),
        bounds_(find_value_bounds(kernel_)) {
    if (emitted.has_lines) lines_.emplace(module, kernel_);
    target.emit_entry(module, ir_, target, emitted, [&](const LlvmFrame& frame) {
      frame_ = &frame;
      memories_.bind(frame);
      if (lines_) lines_->begin(*frame.function);
      emit_block(BlockId{0});
    });
    if (lines_) lines_->finish();
  }

 private:
  using Instruction = MachineInstruction;

  void emit_block(BlockId id) {
    for (const Instruction& instruction : kernel_.blocks[id].instructions) emit(instruction);
  }

  void emit(const Instruction& instruction) {
    if (lines_) lines_->set_line(ir_, num_emitted_);
    ++num_emitted_;
    if (instruction.op == KernelOp::kFor) return emit_for(instruction);
    if (instruction.op == KernelOp::kIf) return emit_if(instruction);
    Value* result = is_lanewise(instruction.op) ? emit_lanes(instruction) : emit_machine(instruction);
    MILLRACE_CHECK((result != nullptr) == !instruction.results.empty());
    if (result != nullptr) values_[index_of(instruction.results[0])] = result;
  }

  Value* emit_lanes(const Instruction& instruction) {
    const VectorType& type = kernel_.types[instruction.results[0]];
    if (instruction.op == KernelOp::kConstant) return emit_constant(context_, type, instruction.immediate);
    const bool is_select = instruction.op == KernelOp::kSelect;
    const DType from = kernel_.types[instruction.operands[is_select ? 1 : 0]].dtype;
    return emit_lanewise(ir_, target_, instruction.op, from, type.dtype, operands(instruction));
  }

  Value* emit_machine(const Instruction& instruction) {
    const std::vector<Value*> x = operands(instruction);
    switch (instruction.op) {
      case KernelOp::kSize:
        return frame_->sizes[instruction.immediate];
      case KernelOp::kWorkgroupId:
        return frame_->group;
      case KernelOp::kThreadId:
        return frame_->thread;
      case KernelOp::kLaneIota:
        return lane_iota(result_type(instruction));
      case KernelOp::kSplat:
        return result_type(instruction).lanes == 1 ? x[0] : ir_.CreateVectorSplat(result_type(instruction).lanes, x[0]);
      case KernelOp::kExtract:
        return x[0]->getType()->isVectorTy() ? ir_.CreateExtractElement(x[0], instruction.immediate) : x[0];
      case KernelOp::kInterleave:
        return interleave(x[0], x[1], result_type(instruction).lanes, instruction.immediate == 1);
      case KernelOp::kWidenF16:
      case KernelOp::kNarrowF16:
        return emit_f16(ir_, target_, instruction.op, x[0]);
      case KernelOp::kReduceAdd:
      case KernelOp::kReduceMul:
      case KernelOp::kReduceMin:
      case KernelOp::kReduceMax:
        return emit_reduce(ir_, target_, instruction.op, result_type(instruction).dtype, x[0]);
      case KernelOp::kReportError:
        emit_report_error(ir_, target_, frame_->status, x[0], static_cast<std::uint32_t>(instruction.immediate));
        return nullptr;
      case KernelOp::kShuffle:
        return target_.emit_shuffle(ir_, target_, x[0], x[1]);
      case KernelOp::kShuffleXor:
        return target_.emit_shuffle_xor(ir_, target_, x[0], static_cast<std::uint32_t>(instruction.immediate));
      case KernelOp::kBallot:
        return target_.emit_ballot(ir_, target_, x[0]);
      case KernelOp::kBarrier:
        target_.emit_barrier(ir_);
        return nullptr;
      default:
        return emit_access(instruction, x);
    }
  }

  Value* emit_access(const Instruction& instruction, const std::vector<Value*>& x) {
    const LlvmMemory& memory = memories_[MemoryRef::decode(instruction.immediate)];
    switch (instruction.op) {
      case KernelOp::kLoadVector:
        return emit_load(ir_, memory, result_type(instruction), x[0]);
      case KernelOp::kLoadMasked:
        return emit_load_masked(ir_, memory, x[0], x[1], x[2]);
      case KernelOp::kGather:
        return emit_gather(ir_, target_, memory, x[0], x[1], x[2]);
      case KernelOp::kStoreVector:
        emit_store(ir_, memory, x[0], x[1]);
        return nullptr;
      case KernelOp::kStoreStreaming:
        streaming_.emit(ir_, *frame_, memory, x[0], x[1]);
        return nullptr;
      case KernelOp::kStoreMasked:
        emit_store_masked(ir_, memory, x[0], x[1], x[2]);
        return nullptr;
      case KernelOp::kScatter:
        emit_scatter(ir_, memory, x[0], x[1], x[2]);
        return nullptr;
      case KernelOp::kAtomicAdd:
      case KernelOp::kAtomicMin:
      case KernelOp::kAtomicMax:
      case KernelOp::kAtomicOr:
      case KernelOp::kAtomicExchange:
        return emit_atomic(ir_, memory, instruction.op, x[0], x[1]);
      default:
        MILLRACE_CHECK(false && "not a machine instruction");
        return nullptr;
    }
  }

  /// Emits for (i = lower; i < upper; i += step) with one test before the loop and one at the end of the body. LLVM's
  /// loop passes prefer this form. The loop also ends if i + step would overflow.
  void emit_for(const Instruction& instruction) {
    const Block& body = kernel_.blocks[instruction.blocks[0]];
    Value* lower = value(instruction.operands[0]);
    Value* upper = value(instruction.operands[1]);
    Value* step = value(instruction.operands[2]);
    llvm::BasicBlock* before = ir_.GetInsertBlock();
    llvm::BasicBlock* loop = new_block("loop");
    llvm::BasicBlock* after = llvm::BasicBlock::Create(context_, "after_loop");
    ir_.CreateCondBr(make_uniform(instruction, ir_.CreateICmpSLT(lower, upper)), loop, after);

    ir_.SetInsertPoint(loop);
    std::vector<llvm::PHINode*> phis;
    for (std::size_t i = 0; i < body.parameters.size(); ++i) {
      Value* initial = i == 0 ? lower : value(instruction.operands[2 + i]);
      phis.push_back(ir_.CreatePHI(initial->getType(), 2));
      phis.back()->addIncoming(initial, before);
      values_[index_of(body.parameters[i])] = phis.back();
    }
    const llvm::DebugLoc line = ir_.getCurrentDebugLocation();
    emit_block(instruction.blocks[0]);
    ir_.SetCurrentDebugLocation(line);
    llvm::BasicBlock* latch = ir_.GetInsertBlock();
    Value* next = ir_.CreateAdd(phis[0], step);
    phis[0]->addIncoming(next, latch);
    for (std::size_t i = 1; i < phis.size(); ++i) phis[i]->addIncoming(value(body.yields[i - 1]), latch);
    Value* goes_on = has_next(instruction, phis[0], next);
    llvm::BranchInst* back = ir_.CreateCondBr(make_uniform(instruction, goes_on), loop, after);
    if (contains(body, KernelOp::kBarrier) && contains(body, KernelOp::kFor)) forbid_unrolling(back);

    start_block(after);
    for (std::size_t i = 0; i < instruction.results.size(); ++i) {
      Value* initial = value(instruction.operands[3 + i]);
      merge(instruction.results[i], initial, before, value(body.yields[i]), latch);
    }
  }

  /// Whether another iteration follows the one with index i, that is, whether i + step < upper without overflow. `next`
  /// is i + step, which may have wrapped. The first two forms cost no more than a plain next < upper.
  Value* has_next(const Instruction& loop, Value* i, Value* next) {
    const ValueBounds &lower = bounds_[loop.operands[0]], &end = bounds_[loop.operands[1]],
                      &step = bounds_[loop.operands[2]];
    Value* upper = value(loop.operands[1]);
    const std::int64_t limit = kernel_.types[loop.operands[0]].dtype == DType::kI32
                                   ? std::numeric_limits<std::int32_t>::max()
                                   : std::numeric_limits<std::int64_t>::max();
    const std::uint64_t room = static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(end.maximum);
    if (step.maximum >= 1 && static_cast<std::uint64_t>(step.maximum - 1) <= room)
      return ir_.CreateICmpSLT(next, upper);
    if (lower.minimum >= 0) return ir_.CreateICmpULT(next, upper);  // unsigned, the sum is exact
    return ir_.CreateICmpUGT(ir_.CreateSub(upper, i), value(loop.operands[2]));
  }

  bool contains(const Block& block, KernelOp op) const {
    return std::ranges::any_of(block.instructions, [&](const Instruction& instruction) {
      return instruction.op == op || std::ranges::any_of(instruction.blocks, [&](BlockId inner) {
               return contains(kernel_.blocks[inner], op);
             });
    });
  }

  /// Unrolling a loop that contains a barrier gains nothing, and the results of all unrolled loads would occupy
  /// registers at once.
  void forbid_unrolling(llvm::BranchInst* back) {
    auto* disable = llvm::MDNode::get(context_, llvm::MDString::get(context_, "llvm.loop.unroll.disable"));
    llvm::MDNode* loop = llvm::MDNode::getDistinct(context_, {nullptr, disable});
    loop->replaceOperandWith(0, loop);
    back->setMetadata(llvm::LLVMContext::MD_loop, loop);
  }

  void emit_if(const Instruction& instruction) {
    llvm::BasicBlock* then_block = new_block("then");
    llvm::BasicBlock* else_block = llvm::BasicBlock::Create(context_, "else");
    llvm::BasicBlock* after = llvm::BasicBlock::Create(context_, "after_if");
    ir_.CreateCondBr(make_uniform(instruction, value(instruction.operands[0])), then_block, else_block);
    ir_.SetInsertPoint(then_block);
    emit_block(instruction.blocks[0]);
    llvm::BasicBlock* then_end = ir_.GetInsertBlock();
    ir_.CreateBr(after);
    start_block(else_block);
    emit_block(instruction.blocks[1]);
    llvm::BasicBlock* else_end = ir_.GetInsertBlock();
    ir_.CreateBr(after);
    start_block(after);
    for (std::size_t i = 0; i < instruction.results.size(); ++i) {
      merge(instruction.results[i], value(kernel_.blocks[instruction.blocks[0]].yields[i]), then_end,
            value(kernel_.blocks[instruction.blocks[1]].yields[i]), else_end);
    }
  }

  /// The condition of a branch. If exchanges between threads are inside the branch, all threads must take the same
  /// path. The verifier has proved that they do, but LLVM masks threads off unless it can prove it too. LLVM knows that
  /// a ballot of the condition is uniform.
  Value* make_uniform(const Instruction& branch, Value* condition) {
    const bool has_exchange =
        std::ranges::any_of(branch.blocks, [&](BlockId block) { return exchanges_lanes(kernel_, block); });
    if (!has_exchange || kernel_.subgroup_size == 1 || !spread_of_branch(kernel_, flow_, branch).needs_proof) {
      return condition;
    }
    return ir_.CreateICmpNE(target_.emit_ballot(ir_, target_, condition), ir_.getInt64(0));
  }

  void merge(MachineValueId result, Value* a, llvm::BasicBlock* from_a, Value* b, llvm::BasicBlock* from_b) {
    llvm::PHINode* phi = ir_.CreatePHI(a->getType(), 2);
    phi->addIncoming(a, from_a);
    phi->addIncoming(b, from_b);
    values_[index_of(result)] = phi;
  }

  llvm::BasicBlock* new_block(const char* name) { return llvm::BasicBlock::Create(context_, name, frame_->function); }

  void start_block(llvm::BasicBlock* block) {
    frame_->function->insert(frame_->function->end(), block);
    ir_.SetInsertPoint(block);
  }

  Value* interleave(Value* a, Value* b, std::uint32_t lanes, bool is_upper) {
    std::vector<int> order;
    for (std::uint32_t i = 0; i < lanes; ++i) {
      order.push_back(static_cast<int>(i / 2 + (is_upper ? lanes / 2 : 0) + (i % 2) * lanes));
    }
    return ir_.CreateShuffleVector(a, b, order);
  }

  Value* lane_iota(const VectorType& type) {
    std::vector<llvm::Constant*> lanes;
    for (std::uint32_t i = 0; i < type.lanes; ++i) {
      lanes.push_back(emit_constant(context_, {type.dtype, 1}, i));
    }
    return type.lanes == 1 ? lanes[0] : llvm::ConstantVector::get(lanes);
  }

  Value* value(MachineValueId id) const { return values_[index_of(id)]; }
  std::vector<Value*> operands(const Instruction& instruction) const {
    std::vector<Value*> operands;
    for (MachineValueId id : instruction.operands) operands.push_back(value(id));
    return operands;
  }
  const VectorType& result_type(const Instruction& instruction) const { return kernel_.types[instruction.results[0]]; }

  llvm::LLVMContext& context_;
  const MachineKernel& kernel_;
  const LlvmTarget& target_;
  llvm::IRBuilder<> ir_;
  LlvmMemories memories_;
  StreamingStores streaming_;
  std::vector<Value*> values_;  // by MachineValueId
  SubgroupFlow flow_;
  IdVector<MachineValueId, ValueBounds> bounds_;
  const LlvmFrame* frame_ = nullptr;
  std::optional<LlvmLines> lines_;
  std::size_t num_emitted_ = 0;
};

}  // namespace

std::unique_ptr<llvm::Module> emit_llvm_module(llvm::LLVMContext& context, const llvm::DataLayout& layout,
                                               const LlvmKernel& kernel, const LlvmTarget& target) {
  auto module = std::make_unique<llvm::Module>(kernel.symbol, context);
  module->setTargetTriple(target.triple);
  module->setDataLayout(layout);
  KernelWalk(*module, kernel, target);
  return module;
}

}  // namespace millrace
