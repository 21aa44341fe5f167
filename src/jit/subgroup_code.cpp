// SPDX-License-Identifier: Apache-2.0
#include "jit/subgroup_code.h"

#include <algorithm>

namespace millrace {

SubgroupCode::SubgroupCode(const MachineKernel& source, MachineBuilder& builder)
    : source_(source), builder_(builder), lanes_(source.subgroup_size) {
  for (const BufferArgument& buffer : source.buffers) {
    buffers_.push_back(builder.buffer(buffer.name, buffer.dtype, buffer.is_read, buffer.is_written));
  }
  for (const MemorySlot& slot : source.slots) {
    // A thread's own memory is a row of the workgroup's, element i of all threads side by side.
    const bool is_private = slot.kind == MemoryKind::kPrivate;
    const std::uint64_t count = slot.num_elements * (is_private ? source.workgroup_size : 1);
    slots_.push_back(builder.workgroup_memory(slot.dtype, count, slot.name));
  }
}

void SubgroupCode::begin(MachineValue first_thread) {
  first_thread_ = first_thread;
  values_.clear();
}

MachineValue SubgroupCode::both(const Mask& mask, MachineValue condition) {
  return mask ? builder_.bit_and(*mask, condition) : condition;
}

MachineValue SubgroupCode::threads_of(const Mask& mask) {
  return builder_.splat(mask.value_or(builder_.constant_int(DType::kBool, 1)), lanes_);
}

MemoryHandle SubgroupCode::memory(const MachineInstruction& instruction) const {
  const MemoryRef ref = MemoryRef::decode(instruction.immediate);
  return (ref.is_slot ? slots_ : buffers_)[ref.index];
}

MachineValue SubgroupCode::offsets(const MachineInstruction& instruction) {
  const MachineValue offset = builder_.splat(operand(instruction, 0), lanes_);
  const MemoryRef ref = MemoryRef::decode(instruction.immediate);
  if (!ref.is_slot || source_.slots[ref.index].kind != MemoryKind::kPrivate) return offset;
  const MachineValue first = builder_.convert(offset.dtype, first_thread_);
  const MachineValue thread = builder_.add(first, builder_.lane_iota(offset.dtype, lanes_));
  return builder_.add(builder_.mul(offset, builder_.constant_int(offset.dtype, source_.workgroup_size)), thread);
}

/// Memory that holds the vector, for as long as nothing else of this use and dtype is put there.
MemoryHandle SubgroupCode::scratch(unsigned use, MachineValue vector) {
  const auto [place, is_new] = scratch_.try_emplace({use, vector.dtype});
  if (is_new) place->second = builder_.private_memory(vector.dtype, lanes_, "lanes");
  builder_.store(place->second, builder_.i32(0), builder_.splat(vector, lanes_));
  return place->second;
}

void SubgroupCode::emit_block(BlockId block, const Mask& mask) {
  for (const MachineInstruction& instruction : source_.blocks[block].instructions) emit(instruction, mask);
}

MachineBuilder::Values SubgroupCode::yields(BlockId block) {
  Values values;
  for (const MachineValueId id : source_.blocks[block].yields) values.push_back(value_of_lanes(id));
  return values;
}

void SubgroupCode::emit(const MachineInstruction& instruction, Mask mask) {
  switch (instruction.op) {
    case KernelOp::kStoreVector:
    case KernelOp::kStoreMasked:
    case KernelOp::kScatter:
      return emit_store(instruction, mask);
    case KernelOp::kReportError: {
      const MachineValue flags = both(mask, operand(instruction, 0));
      return builder_.report_error(flags, static_cast<std::uint32_t>(instruction.immediate));
    }
    case KernelOp::kIf:
    case KernelOp::kFor: {
      const Values results = instruction.op == KernelOp::kIf ? emit_if(instruction, mask) : emit_for(instruction, mask);
      for (std::size_t i = 0; i < results.size(); ++i) define(instruction.results[i], results[i]);
      return;
    }
    default:
      define(instruction.results[0], emit_value(instruction, mask));
  }
}

MachineValue SubgroupCode::emit_value(const MachineInstruction& instruction, const Mask& mask) {
  if (is_lanewise(instruction.op)) return emit_lanewise(instruction);
  if (is_atomic(instruction.op)) return emit_atomic(instruction, mask);
  switch (instruction.op) {
    case KernelOp::kSize:
      return builder_.size(source_.sizes[instruction.immediate].value);
    case KernelOp::kWorkgroupId:
      return builder_.workgroup_id();
    case KernelOp::kThreadId:
      return builder_.add(first_thread_, builder_.lane_iota(DType::kI32, lanes_));
    case KernelOp::kShuffle:
      return emit_shuffle(operand(instruction, 0), operand(instruction, 1), mask);
    case KernelOp::kShuffleXor: {
      const MachineValue distance = builder_.i32(static_cast<std::int32_t>(instruction.immediate));
      const MachineValue lanes = builder_.bit_xor(builder_.lane_iota(DType::kI32, lanes_), distance);
      return emit_shuffle(operand(instruction, 0), lanes, mask);
    }
    case KernelOp::kBallot: {
      const MachineValue one = builder_.constant_int(DType::kU64, 1);
      const MachineValue bits = builder_.shl(one, builder_.lane_iota(DType::kU64, lanes_));
      const MachineValue flags = both(mask, operand(instruction, 0));
      return builder_.reduce(KernelOp::kReduceAdd, builder_.select(flags, bits, zero(DType::kU64)));
    }
    case KernelOp::kLaneIota:
      return zero(source_.types[instruction.results[0]].dtype);
    case KernelOp::kSplat:
    case KernelOp::kExtract:
    case KernelOp::kReduceAdd:
    case KernelOp::kReduceMul:
    case KernelOp::kReduceMin:
    case KernelOp::kReduceMax:
      return operand(instruction, 0);  // of one lane
    default:
      return emit_load(instruction, mask);
  }
}

MachineValue SubgroupCode::emit_lanewise(const MachineInstruction& instruction) {
  const DType dtype = source_.types[instruction.results[0]].dtype;
  const auto x = [&](std::size_t i) { return operand(instruction, i); };
  switch (instruction.operands.size()) {
    case 0:
      return builder_.constant_scalar({dtype, instruction.immediate});
    case 1:
      return builder_.emit(instruction.op, dtype, {x(0)});
    case 2:
      return builder_.emit(instruction.op, dtype, {x(0), x(1)});
    default:
      return builder_.emit(instruction.op, dtype, {x(0), x(1), x(2)});
  }
}

MachineValue SubgroupCode::emit_load(const MachineInstruction& instruction, const Mask& mask) {
  const MemoryHandle from = memory(instruction);
  if (instruction.op == KernelOp::kLoadVector) {
    return builder_.gather(from, offsets(instruction), threads_of(mask), zero(register_dtype(from.dtype)));
  }
  const MachineValue threads = both(mask, operand(instruction, 1));
  return builder_.gather(from, offsets(instruction), threads, operand(instruction, 2));
}

void SubgroupCode::emit_store(const MachineInstruction& instruction, const Mask& mask) {
  const bool is_masked = instruction.op != KernelOp::kStoreVector;
  const MachineValue threads = is_masked ? both(mask, operand(instruction, 1)) : threads_of(mask);
  builder_.scatter(memory(instruction), offsets(instruction), threads, operand(instruction, is_masked ? 2 : 1));
}

/// One thread after the other.
MachineValue SubgroupCode::emit_atomic(const MachineInstruction& instruction, const Mask& mask) {
  const MemoryHandle places = scratch(0, offsets(instruction));
  const MemoryHandle values = scratch(1, operand(instruction, 1));
  const MemoryHandle threads = scratch(2, threads_of(mask));
  const MemoryHandle old = scratch(3, zero(operand(instruction, 1).dtype));
  const MachineValue one = builder_.i32(1), end = builder_.i32(static_cast<std::int32_t>(lanes_));
  builder_.for_loop(builder_.i32(0), end, one, {}, [&](MachineValue lane, const Values&) {
    const auto exchange = [&] {
      const MachineValue place = builder_.load(places, lane), value = builder_.load(values, lane);
      builder_.store(old, lane, builder_.atomic(instruction.op, memory(instruction), place, value));
      return Values{};
    };
    builder_.if_else(builder_.load(threads, lane), exchange, [] { return Values{}; });
    return Values{};
  });
  return builder_.load(old, builder_.i32(0), lanes_);
}

MachineValue SubgroupCode::emit_shuffle(MachineValue vector, MachineValue lanes, const Mask& mask) {
  const MemoryHandle held = scratch(0, vector);
  const MachineValue last = builder_.i32(static_cast<std::int32_t>(lanes_ - 1));
  const MachineValue from = builder_.splat(builder_.bit_and(lanes, last), lanes_);
  return builder_.gather(held, from, threads_of(mask), zero(vector.dtype));
}

MachineBuilder::Values SubgroupCode::emit_if(const MachineInstruction& instruction, const Mask& mask) {
  const MachineValue condition = operand(instruction, 0);
  if (condition.lanes == 1) {
    const auto branch = [&](std::size_t i) {
      emit_block(instruction.blocks[i], mask);
      return yields(instruction.blocks[i]);
    };
    return builder_.if_else(condition, [&] { return branch(0); }, [&] { return branch(1); });
  }
  const MachineValue otherwise = builder_.eq(condition, zero(DType::kBool));
  Values results = emit_branch(instruction.blocks[0], both(mask, condition), instruction.results);
  const Values others = emit_branch(instruction.blocks[1], both(mask, otherwise), instruction.results);
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = builder_.select(condition, results[i], others[i]);
  return results;
}

/// The block for these threads, left out when there are none.
MachineBuilder::Values SubgroupCode::emit_branch(BlockId block, MachineValue threads,
                                                 const std::vector<MachineValueId>& results) {
  if (results.empty() && source_.blocks[block].instructions.empty()) return {};
  const auto taken = [&] {
    emit_block(block, threads);
    return yields(block);
  };
  const auto left_out = [&] {
    Values values;
    for (const MachineValueId id : results) values.push_back(builder_.splat(zero(source_.types[id].dtype), lanes_));
    return values;
  };
  return builder_.if_else(builder_.reduce(KernelOp::kReduceMax, threads), taken, left_out);
}

MachineBuilder::Values SubgroupCode::carried_at_first(const MachineInstruction& loop) {
  Values values;
  for (std::size_t i = 3; i < loop.operands.size(); ++i) values.push_back(value_of_lanes(loop.operands[i]));
  return values;
}

/// Each thread has its own number of turns: as many are made as one of them needs.
MachineBuilder::Values SubgroupCode::emit_for(const MachineInstruction& instruction, const Mask& mask) {
  const MachineValue lower = operand(instruction, 0), upper = operand(instruction, 1), step = operand(instruction, 2);
  if (lower.lanes == 1 && upper.lanes == 1 && step.lanes == 1) return emit_uniform_for(instruction, mask);
  auto& b = builder_;
  const auto wide = [&](MachineValue bound) { return b.convert(DType::kI64, bound); };
  const MachineValue one = b.i64(1), nothing = b.i64(0);
  const MachineValue span = b.add(b.sub(wide(upper), wide(lower)), b.sub(wide(step), one));
  const MachineValue turns = b.select(both(mask, b.lt(lower, upper)), b.div(span, wide(step)), nothing);
  const MachineValue most = b.reduce(KernelOp::kReduceMax, turns);
  const Block& body = source_.blocks[instruction.blocks[0]];
  return b.for_loop(nothing, most, one, carried_at_first(instruction), [&](MachineValue turn, const Values& carried) {
    define(body.parameters[0], b.add(lower, b.mul(step, b.convert(lower.dtype, turn))));
    for (std::size_t i = 0; i < carried.size(); ++i) define(body.parameters[i + 1], carried[i]);
    const MachineValue threads = b.lt(turn, turns);
    emit_block(instruction.blocks[0], threads);
    Values next = yields(instruction.blocks[0]);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = b.select(threads, next[i], carried[i]);
    return next;
  });
}

MachineBuilder::Values SubgroupCode::emit_uniform_for(const MachineInstruction& instruction, const Mask& mask) {
  const Block& body = source_.blocks[instruction.blocks[0]];
  const auto turn = [&](MachineValue index, const Values& carried) {
    define(body.parameters[0], index);
    for (std::size_t i = 0; i < carried.size(); ++i) define(body.parameters[i + 1], carried[i]);
    emit_block(instruction.blocks[0], mask);
    return yields(instruction.blocks[0]);
  };
  return builder_.for_loop(operand(instruction, 0), operand(instruction, 1), operand(instruction, 2),
                           carried_at_first(instruction), turn);
}

}  // namespace millrace
