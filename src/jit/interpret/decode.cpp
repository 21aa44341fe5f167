// SPDX-License-Identifier: Apache-2.0
// Decodes a MachineKernel into the flat list of steps that the interpreter runs: assigns registers and picks a handler
// per instruction.
#include <algorithm>

#include "jit/interpret/program.h"

namespace millrace::interpreter {
namespace {

constexpr std::uint32_t kRegisterAlignment = 16;
constexpr std::uint32_t kNoRegister = UINT32_MAX;

struct RegisterCopy {
  std::uint32_t to, from;
  std::uint32_t size_bytes;  // per thread
};

class Decoder {
 public:
  Decoder(const MachineKernel& kernel, ProgramKind kind)
      : kernel_(kernel), kind_(kind), registers_(kernel.types.size(), kNoRegister), is_once_(kernel.types.size()) {}

  Program run() {
    decode_block(BlockId{}, true);
    program_.group.push_back({});
    return std::move(program_);
  }

 private:
  bool is_threads() const { return kind_ != ProgramKind::kOneThread; }

  /// Bytes per thread.
  std::uint32_t size_of(MachineValueId id) const {
    const VectorType& type = kernel_.types[id];
    return static_cast<std::uint32_t>(size_bytes(type.dtype)) * type.lanes;
  }

  std::uint32_t new_register(std::uint32_t thread_bytes) {
    const std::uint32_t offset = program_.register_bytes;
    const std::uint64_t size = std::uint64_t{thread_bytes} * kernel_.workgroup_size;
    const std::uint64_t end = offset + (size + kRegisterAlignment - 1) / kRegisterAlignment * kRegisterAlignment;
    MILLRACE_CHECK(end <= UINT32_MAX);
    program_.register_bytes = static_cast<std::uint32_t>(end);
    return offset;
  }

  std::uint32_t reg(MachineValueId id) {
    std::uint32_t& offset = registers_[index_of(id)];
    if (offset == kNoRegister) offset = new_register(size_of(id));
    return offset;
  }

  std::vector<Step>& steps() { return program_.group; }

  std::size_t push(Step step) {
    step.mask = mask_;
    step.instruction = instruction_;
    steps().push_back(step);
    return steps().size() - 1;
  }

  /// Copies the values of the active threads. Inactive threads keep their values.
  void copy(const RegisterCopy& copied) {
    if (copied.to == copied.from) return;
    const bool is_masked = mask_ != 0;
    const std::uint64_t all_bytes = std::uint64_t{copied.size_bytes} * kernel_.workgroup_size;
    push({.handler = is_masked ? masked_copy_handler(copied.size_bytes) : copy_handler(),
          .out = copied.to,
          .in = {copied.from},
          .immediate = is_masked ? copied.size_bytes : all_bytes});
  }

  /// Copies all values as if at once, because a yield may be another carried value, as in a swap.
  void copy_all(const std::vector<MachineValueId>& to, std::size_t first, const std::vector<MachineValueId>& from) {
    std::vector<std::uint32_t> sources;
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::uint32_t source = reg(from[i]);
      const bool is_overwritten = std::any_of(to.begin() + static_cast<std::ptrdiff_t>(first), to.end(),
                                              [&](MachineValueId id) { return reg(id) == source; });
      if (is_overwritten && reg(to[first + i]) != source) {
        const std::uint32_t saved = new_register(size_of(from[i]));
        copy({.to = saved, .from = source, .size_bytes = size_of(from[i])});
        source = saved;
      }
      sources.push_back(source);
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
      copy({.to = reg(to[first + i]), .from = sources[i], .size_bytes = size_of(from[i])});
    }
  }

  std::int32_t distance(std::size_t from, std::size_t to) const {
    return static_cast<std::int32_t>(static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from));
  }

  /// The number of lane instructions that one thread executes in a block, without inner blocks.
  std::uint64_t lane_instructions(const Block& block) const {
    std::uint64_t sum = 0;
    for (const MachineInstruction& instruction : block.instructions) {
      if (instruction.op == KernelOp::kConstant) continue;
      const bool is_control = !instruction.blocks.empty();
      std::uint32_t lanes = 1;
      for (const auto* values : {&instruction.operands, &instruction.results}) {
        for (const MachineValueId value : *values) lanes = std::max(lanes, kernel_.types[value].lanes);
      }
      sum += is_control ? 1 : lanes;
    }
    return sum;
  }

  void decode_block(BlockId id, bool is_body) {
    if (kind_ == ProgramKind::kObservedThreads) {
      push({.handler = count_handler(), .immediate = lane_instructions(kernel_.blocks[id])});
    }
    for (const MachineInstruction& instruction : kernel_.blocks[id].instructions) {
      instruction_ = num_instructions_++;
      if (instruction.op == KernelOp::kFor) {
        decode_for(instruction);
      } else if (instruction.op == KernelOp::kIf) {
        decode_if(instruction);
      } else if (instruction.op != KernelOp::kBarrier || is_threads()) {  // a single thread need not wait
        decode_plain(instruction, is_body && runs_once(instruction));
      }
    }
  }

  /// Decodes a block for the threads of a mask, then copies its yields to their destinations.
  void decode_inner(BlockId id, std::uint64_t mask, const std::vector<MachineValueId>& to, std::size_t first) {
    const std::uint32_t outer_mask = mask_, outer_instruction = instruction_;
    if (is_threads()) mask_ = static_cast<std::uint32_t>(mask);
    decode_block(id, false);
    instruction_ = outer_instruction;
    copy_all(to, first, kernel_.blocks[id].yields);
    mask_ = outer_mask;
  }

  /// Whether the instruction's value is the same in every group.
  bool runs_once(const MachineInstruction& instruction) {
    const KernelOp op = instruction.op;
    const bool is_once = op == KernelOp::kConstant || op == KernelOp::kSize || op == KernelOp::kThreadId ||
                         op == KernelOp::kLaneIota ||
                         (op == KernelOp::kSplat && is_once_[index_of(instruction.operands[0])]);
    if (is_once) is_once_[index_of(instruction.results[0])] = true;
    return is_once;
  }

  void decode_for(const MachineInstruction& loop) {
    const Block& body = kernel_.blocks[loop.blocks[0]];
    // The results are the carried values at the end of the loop, so they share registers.
    for (std::size_t i = 0; i < loop.results.size(); ++i) {
      registers_[index_of(loop.results[i])] = reg(body.parameters[i + 1]);
    }
    const std::vector<MachineValueId> initial(loop.operands.begin() + 3, loop.operands.end());
    copy_all(body.parameters, 1, initial);
    const ControlHandlers handlers = control_handlers(kernel_.types[body.parameters[0]].dtype, is_threads());
    Step control{.handler = handlers.for_begin, .out = reg(body.parameters[0]), .immediate = program_.num_masks++};
    for (std::size_t i = 0; i < 3; ++i) control.in[i] = reg(loop.operands[i]);
    const std::size_t begin = push(control);
    decode_inner(loop.blocks[0], control.immediate, body.parameters, 1);
    control.handler = handlers.for_end;
    control.jump = distance(steps().size(), begin + 1);
    push(control);
    steps()[begin].jump = distance(begin, steps().size());
  }

  void decode_if(const MachineInstruction& branch) {
    const ControlHandlers handlers = control_handlers(DType::kI64, is_threads());
    const std::uint64_t mask = program_.num_masks;
    program_.num_masks += 2;
    const std::size_t begin = push({.handler = handlers.if_begin, .in = {reg(branch.operands[0])}, .immediate = mask});
    decode_inner(branch.blocks[0], mask, branch.results, 0);
    const std::size_t middle = push({.handler = handlers.if_else, .immediate = mask});
    steps()[begin].jump = distance(begin, steps().size());
    if (is_threads()) steps()[begin].jump = distance(begin, middle);  // the second block may have no threads either
    decode_inner(branch.blocks[1], mask + 1, branch.results, 0);
    steps()[middle].jump = distance(middle, steps().size());
  }

  void decode_plain(const MachineInstruction& instruction, bool is_once) {
    Step step;
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) step.in[i] = reg(instruction.operands[i]);
    // A step runs over the lanes of its result or of its last operand, whichever has more lanes.
    VectorType type;
    if (!instruction.operands.empty()) type = kernel_.types[instruction.operands.back()];
    const VectorType operand = type;
    if (!instruction.results.empty()) {
      step.out = reg(instruction.results[0]);
      type = kernel_.types[instruction.results[0]];
    }
    step.lanes = std::max(type.lanes, operand.lanes);
    step.immediate = instruction.immediate;
    if (touches_memory(instruction.op)) return decode_access(instruction, type.dtype, step);
    step.handler = pick_handler(instruction, operand, type, step);
    MILLRACE_CHECK(step.handler != nullptr);
    if (is_once) {
      program_.once.push_back(step);
    } else {
      push(step);
    }
  }

  Handler pick_handler(const MachineInstruction& instruction, const VectorType& operand, const VectorType& type,
                       Step& step) {
    switch (instruction.op) {
      case KernelOp::kBitcast:
        step.immediate = std::uint64_t{size_of(instruction.operands[0])} * kernel_.workgroup_size;
        return copy_handler();
      case KernelOp::kLaneIota:
        return lane_iota_handler(type.dtype);
      case KernelOp::kSplat:
        return splat_handler(type.dtype);
      case KernelOp::kReduceAdd:
      case KernelOp::kReduceMul:
      case KernelOp::kReduceMin:
      case KernelOp::kReduceMax:
        step.in[1] = new_register(size_of(instruction.operands[0]));
        return reduce_handler(instruction.op, operand.dtype);
      default:
        break;
    }
    if (!is_lanewise(instruction.op) || instruction.op == KernelOp::kConstant) {
      return move_handler(instruction.op, type.dtype);
    }
    step.lanes *= kernel_.workgroup_size;
    return lanewise_handler(instruction.op, operand.dtype, type.dtype);
  }

  void decode_access(const MachineInstruction& instruction, DType dtype, Step step) {
    const KernelOp op = instruction.op;
    const MemoryRef memory = MemoryRef::decode(instruction.immediate);
    const DType offset = kernel_.types[instruction.operands[0]].dtype;
    step.memory = memory.index + (memory.is_slot ? static_cast<std::uint32_t>(kernel_.buffers.size()) : 0);
    if (kind_ == ProgramKind::kObservedThreads) {
      const AccessKind store_or_load = instruction.results.empty() ? AccessKind::kStore : AccessKind::kLoad;
      step.immediate = static_cast<std::uint64_t>(is_atomic(op) ? AccessKind::kAtomic : store_or_load);
      step.handler = observe_handler(op, offset);
      push(step);
    }
    step.handler = is_atomic(op) ? atomic_handler(op, dtype, offset) : memory_handler(op, dtype, offset, is_threads());
    MILLRACE_CHECK(step.handler != nullptr);
    push(step);
  }

  const MachineKernel& kernel_;
  ProgramKind kind_;
  Program program_;
  std::vector<std::uint32_t> registers_;
  std::vector<bool> is_once_;
  std::uint32_t mask_ = 0;  // the threads that execute the open block
  std::uint32_t instruction_ = 0;
  std::uint32_t num_instructions_ = 0;
};

}  // namespace

Program decode(const MachineKernel& kernel, ProgramKind kind) { return Decoder(kernel, kind).run(); }

}  // namespace millrace::interpreter
