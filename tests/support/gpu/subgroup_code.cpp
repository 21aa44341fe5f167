// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gpu/subgroup_code.h"

namespace millrace {
namespace {

KernelOp lanewise_of(KernelOp reduce_op) {
  switch (reduce_op) {
    case KernelOp::kReduceAdd:
      return KernelOp::kAdd;
    case KernelOp::kReduceMul:
      return KernelOp::kMul;
    case KernelOp::kReduceMin:
      return KernelOp::kMin;
    default:
      return KernelOp::kMax;
  }
}

}  // namespace

SubgroupCode::SubgroupCode(const MachineKernel& source, MachineBuilder& builder)
    : source_(source), builder_(builder), num_threads_(source.subgroup_size) {
  for (const BufferArgument& buffer : source.buffers) {
    buffers_.push_back(builder.buffer(buffer.name, buffer.dtype, buffer.access));
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

SubgroupCode::Values SubgroupCode::spread_values(MachineValueId id) {
  Values spread;
  for (const MachineValue& value : values(id)) spread.push_back(builder_.splat(value, num_threads_));
  return spread;
}

MachineValue SubgroupCode::both(const Mask& mask, MachineValue condition) {
  return mask ? builder_.bit_and(*mask, condition) : condition;
}

MachineValue SubgroupCode::threads_of(const Mask& mask) {
  return builder_.splat(mask ? *mask : builder_.constant_int(DType::kBool, 1), num_threads_);
}

MemoryHandle SubgroupCode::memory(const MachineInstruction& instruction) const {
  const MemoryRef ref = MemoryRef::decode(instruction.immediate);
  return (ref.is_slot ? slots_ : buffers_)[ref.index];
}

/// Where lane `lane` of each thread is. One offset for all lanes is the first one's: the others follow it.
MachineValue SubgroupCode::offsets(const MachineInstruction& instruction, std::uint32_t lane) {
  const bool is_first = lanes_of(instruction.operands[0]) == 1;
  MachineValue offset = builder_.splat(operand(instruction, 0, is_first ? 0 : lane), num_threads_);
  if (is_first && lane > 0) offset = builder_.add(offset, builder_.constant_int(offset.dtype, lane));
  const MemoryRef ref = MemoryRef::decode(instruction.immediate);
  if (!ref.is_slot || source_.slots[ref.index].kind != MemoryKind::kPrivate) return offset;
  const MachineValue first = builder_.convert(offset.dtype, first_thread_);
  const MachineValue thread = builder_.add(first, builder_.lane_iota(offset.dtype, num_threads_));
  const MachineValue row = builder_.mul(offset, builder_.constant_int(offset.dtype, source_.workgroup_size));
  return builder_.add(row, thread);
}

/// Memory that holds the vector, for as long as nothing else of this use and dtype is put there.
MemoryHandle SubgroupCode::scratch(unsigned use, MachineValue vector) {
  const auto [place, is_new] = scratch_.try_emplace({use, vector.dtype});
  if (is_new) place->second = builder_.private_memory(vector.dtype, num_threads_, "lanes");
  const MachineValue start = builder_.i32(0);
  builder_.store(place->second, start, builder_.splat(vector, num_threads_));
  return place->second;
}

void SubgroupCode::emit(const MachineInstruction& instruction, Mask mask) {
  switch (instruction.op) {
    case KernelOp::kStoreVector:
    case KernelOp::kStoreStreaming:
    case KernelOp::kStoreMasked:
    case KernelOp::kScatter:
      for (std::uint32_t lane = 0; lane < lanes_of(instruction.operands.back()); ++lane) {
        emit_store(instruction, lane, mask);
      }
      return;
    case KernelOp::kReportError:
      for (const MachineValue& flag : values(instruction.operands[0])) {
        builder_.report_error(both(mask, flag), static_cast<std::uint32_t>(instruction.immediate));
      }
      return;
    case KernelOp::kIf:
      return define_carried(instruction.results, emit_if(instruction, mask));
    case KernelOp::kFor:
      return define_carried(instruction.results, emit_for(instruction, mask));
    default:
      break;
  }
  Values lanes;
  for (std::uint32_t lane = 0; lane < lanes_of(instruction.results[0]); ++lane) {
    lanes.push_back(emit_value(instruction, lane, mask));
  }
  define(instruction.results[0], std::move(lanes));
}

MachineValue SubgroupCode::emit_value(const MachineInstruction& instruction, std::uint32_t lane, const Mask& mask) {
  if (is_lanewise(instruction.op)) return emit_lanewise(instruction, lane);
  if (is_atomic(instruction.op)) return emit_atomic(instruction, mask);
  switch (instruction.op) {
    case KernelOp::kSize:
      MILLRACE_CHECK(source_.sizes[instruction.immediate].value.has_value());  // kernels share their code afterwards
      return builder_.size(*source_.sizes[instruction.immediate].value);
    case KernelOp::kWorkgroupId:
      return builder_.workgroup_id();
    case KernelOp::kThreadId:
      return builder_.add(first_thread_, builder_.lane_iota(DType::kI32, num_threads_));
    case KernelOp::kShuffle:
      return emit_shuffle(operand(instruction, 0), operand(instruction, 1), mask);
    case KernelOp::kShuffleXor: {
      const MachineValue distance = builder_.i32(static_cast<std::int32_t>(instruction.immediate));
      const MachineValue lanes = builder_.bit_xor(builder_.lane_iota(DType::kI32, num_threads_), distance);
      return emit_shuffle(operand(instruction, 0), lanes, mask);
    }
    case KernelOp::kBallot: {
      const MachineValue one = builder_.constant_int(DType::kU64, 1);
      const MachineValue bits = builder_.shl(one, builder_.lane_iota(DType::kU64, num_threads_));
      const MachineValue flags = both(mask, operand(instruction, 0));
      return builder_.reduce(KernelOp::kReduceAdd, builder_.select(flags, bits, zero(DType::kU64)));
    }
    case KernelOp::kLaneIota:
      return builder_.constant_int(source_.types[instruction.results[0]].dtype, lane);
    case KernelOp::kWidenF16:
      return builder_.widen_f16(operand(instruction, 0, lane));
    case KernelOp::kNarrowF16:
      return builder_.narrow_f16(operand(instruction, 0, lane));
    case KernelOp::kSplat:
      return operand(instruction, 0);
    case KernelOp::kExtract:
      return operand(instruction, 0, static_cast<std::uint32_t>(instruction.immediate));
    case KernelOp::kInterleave: {
      const auto half = static_cast<std::uint32_t>(instruction.immediate);
      return operand(instruction, lane % 2, half * (lanes_of(instruction.results[0]) / 2) + lane / 2);
    }
    case KernelOp::kReduceAdd:
    case KernelOp::kReduceMul:
    case KernelOp::kReduceMin:
    case KernelOp::kReduceMax:
      return emit_reduce(instruction);
    default:
      return emit_load(instruction, lane, mask);
  }
}

MachineValue SubgroupCode::emit_lanewise(const MachineInstruction& instruction, std::uint32_t lane) {
  const DType dtype = source_.types[instruction.results[0]].dtype;
  const auto x = [&](std::size_t i) { return operand(instruction, i, lane); };
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

/// Reduces the lanes of each thread by the tree that kernel_ops.inc promises.
MachineValue SubgroupCode::emit_reduce(const MachineInstruction& instruction) {
  Values lanes = values(instruction.operands[0]);
  for (std::size_t half = lanes.size() / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) {
      lanes[i] = builder_.emit(lanewise_of(instruction.op), lanes[i].dtype, {lanes[i], lanes[i + half]});
    }
  }
  return lanes[0];
}

MachineValue SubgroupCode::emit_load(const MachineInstruction& instruction, std::uint32_t lane, const Mask& mask) {
  const MemoryHandle from = memory(instruction);
  const MachineValue from_where = offsets(instruction, lane);
  if (instruction.op == KernelOp::kLoadVector) {
    const MachineValue threads = threads_of(mask);
    return builder_.gather(from, from_where, threads, zero(register_dtype(from.dtype)));
  }
  const MachineValue threads = both(mask, operand(instruction, 1, lane));
  return builder_.gather(from, from_where, threads, operand(instruction, 2, lane));
}

void SubgroupCode::emit_store(const MachineInstruction& instruction, std::uint32_t lane, const Mask& mask) {
  const MachineValue to_where = offsets(instruction, lane);
  const bool is_masked = instruction.op == KernelOp::kStoreMasked || instruction.op == KernelOp::kScatter;
  const MachineValue threads = is_masked ? both(mask, operand(instruction, 1, lane)) : threads_of(mask);
  builder_.scatter(memory(instruction), to_where, threads, operand(instruction, is_masked ? 2 : 1, lane));
}

/// One thread after the other.
MachineValue SubgroupCode::emit_atomic(const MachineInstruction& instruction, const Mask& mask) {
  const MemoryHandle places = scratch(0, offsets(instruction, 0));
  const MemoryHandle updates = scratch(1, operand(instruction, 1));
  const MemoryHandle threads = scratch(2, threads_of(mask));
  const MemoryHandle old = scratch(3, zero(operand(instruction, 1).dtype));
  const MachineValue first = builder_.i32(0), one = builder_.i32(1);
  const MachineValue end = builder_.i32(static_cast<std::int32_t>(num_threads_));
  builder_.for_loop(first, end, one, {}, [&](MachineValue lane, const Values&) {
    const auto exchange = [&] {
      const MachineValue place = builder_.load(places, lane), update = builder_.load(updates, lane);
      builder_.store(old, lane, builder_.atomic(instruction.op, memory(instruction), place, update));
      return Values{};
    };
    builder_.if_else(builder_.load(threads, lane), exchange, [] { return Values{}; });
    return Values{};
  });
  return builder_.load(old, first, num_threads_);
}

MachineValue SubgroupCode::emit_shuffle(MachineValue vector, MachineValue lanes, const Mask& mask) {
  const MemoryHandle held = scratch(0, vector);
  const MachineValue last = builder_.i32(static_cast<std::int32_t>(num_threads_ - 1));
  const MachineValue from = builder_.splat(builder_.bit_and(lanes, last), num_threads_);
  const MachineValue threads = threads_of(mask);
  return builder_.gather(held, from, threads, zero(vector.dtype));
}

}  // namespace millrace
