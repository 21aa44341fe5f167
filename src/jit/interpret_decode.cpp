// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>

#include "jit/interpret_program.h"

namespace millrace::interpreter {
namespace {

const Step* run_copy(const Step* step, Frame& frame) {
  std::memcpy(frame.at<std::byte>(step->out), frame.at<std::byte>(step->in[0]), step->immediate);
  return step + 1;
}

const Step* run_constant(const Step* step, Frame& frame) {
  std::memcpy(frame.at<std::byte>(step->out), &step->immediate, sizeof(step->immediate));
  return step + 1;
}

const Step* run_size(const Step* step, Frame& frame) {
  *frame.at<std::int64_t>(step->out) = frame.args->sizes[step->immediate];
  return step + 1;
}

const Step* run_workgroup_id(const Step* step, Frame& frame) {
  *frame.at<std::int64_t>(step->out) = frame.group;
  return step + 1;
}

const Step* run_report_error(const Step* step, Frame& frame) {
  const bool* lanes = frame.at<bool>(step->in[0]);
  if (std::any_of(lanes, lanes + step->lanes, [](bool lane) { return lane; })) {
    std::atomic_ref(*frame.args->status).fetch_or(static_cast<std::uint32_t>(step->immediate));
  }
  return step + 1;
}

/// in: lower, upper, step; out: index.
template <class Index>
const Step* run_for_begin(const Step* step, Frame& frame) {
  const Index lower = *frame.at<Index>(step->in[0]);
  MILLRACE_CHECK(*frame.at<Index>(step->in[2]) > 0);
  *frame.at<Index>(step->out) = lower;
  return lower < *frame.at<Index>(step->in[1]) ? step + 1 : step + step->jump;
}

template <class Index>
const Step* run_for_end(const Step* step, Frame& frame) {
  Index& index = *frame.at<Index>(step->out);
  const bool has_wrapped = __builtin_add_overflow(index, *frame.at<Index>(step->in[2]), &index);
  return !has_wrapped && index < *frame.at<Index>(step->in[1]) ? step + step->jump : step + 1;
}

const Step* run_unless(const Step* step, Frame& frame) {
  return *frame.at<bool>(step->in[0]) ? step + 1 : step + step->jump;
}

const Step* run_jump(const Step* step, Frame&) { return step + step->jump; }

constexpr std::uint32_t kRegisterAlignment = 16;
constexpr std::uint32_t kNoRegister = UINT32_MAX;

class Decoder {
 public:
  explicit Decoder(const MachineKernel& kernel)
      : kernel_(kernel), registers_(kernel.types.size(), kNoRegister), is_once_(kernel.types.size()) {}

  Program run() {
    decode_block(BlockId{}, true);
    program_.group.push_back({});
    return std::move(program_);
  }

 private:
  std::uint32_t size_of(MachineValueId id) const {
    const VectorType& type = kernel_.types[id];
    return static_cast<std::uint32_t>(size_bytes(type.dtype)) * type.lanes;
  }

  std::uint32_t new_register(std::uint32_t size) {
    const std::uint32_t offset = program_.register_bytes;
    // A constant is written as 8 bytes whatever its dtype.
    program_.register_bytes += (size + kRegisterAlignment - 1) / kRegisterAlignment * kRegisterAlignment;
    MILLRACE_CHECK(program_.register_bytes >= offset);
    return offset;
  }

  std::uint32_t reg(MachineValueId id) {
    std::uint32_t& offset = registers_[index_of(id)];
    if (offset == kNoRegister) offset = new_register(size_of(id));
    return offset;
  }

  std::vector<Step>& steps() { return program_.group; }

  void copy(std::uint32_t out, std::uint32_t in, std::uint32_t size) {
    if (out != in) steps().push_back({.handler = run_copy, .out = out, .in = {in}, .immediate = size});
  }

  /// All at once: a yield may be another carried value, as in a swap.
  void copy_all(const std::vector<MachineValueId>& to, std::size_t first, const std::vector<MachineValueId>& from) {
    std::vector<std::uint32_t> sources;
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::uint32_t source = reg(from[i]);
      const bool is_overwritten = std::any_of(to.begin() + static_cast<std::ptrdiff_t>(first), to.end(),
                                              [&](MachineValueId id) { return reg(id) == source; });
      if (is_overwritten && reg(to[first + i]) != source) {
        const std::uint32_t saved = new_register(size_of(from[i]));
        copy(saved, source, size_of(from[i]));
        source = saved;
      }
      sources.push_back(source);
    }
    for (std::size_t i = 0; i < from.size(); ++i) copy(reg(to[first + i]), sources[i], size_of(from[i]));
  }

  std::int32_t distance(std::size_t from, std::size_t to) const {
    return static_cast<std::int32_t>(static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from));
  }

  void decode_block(BlockId id, bool is_body) {
    for (const MachineInstruction& instruction : kernel_.blocks[id].instructions) {
      if (instruction.op == KernelOp::kFor) {
        decode_for(instruction);
      } else if (instruction.op == KernelOp::kIf) {
        decode_if(instruction);
      } else if (instruction.op != KernelOp::kBarrier) {  // one thread is the workgroup
        const Step step = decode_plain(instruction);
        const bool is_once = is_body && runs_once(instruction);
        (is_once ? program_.once : program_.group).push_back(step);
      }
    }
  }

  /// Whether the value is the same in every group.
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
    // The results are what the carried values are when the loop ends: one register serves both.
    for (std::size_t i = 0; i < loop.results.size(); ++i) {
      registers_[index_of(loop.results[i])] = reg(body.parameters[i + 1]);
    }
    const std::vector<MachineValueId> initial(loop.operands.begin() + 3, loop.operands.end());
    copy_all(body.parameters, 1, initial);
    const bool is_narrow = kernel_.types[body.parameters[0]].dtype == DType::kI32;
    Step control{.handler = is_narrow ? run_for_begin<std::int32_t> : run_for_begin<std::int64_t>,
                 .out = reg(body.parameters[0])};
    for (std::size_t i = 0; i < 3; ++i) control.in[i] = reg(loop.operands[i]);
    const std::size_t begin = steps().size();
    steps().push_back(control);
    decode_block(loop.blocks[0], false);
    copy_all(body.parameters, 1, body.yields);
    control.handler = is_narrow ? run_for_end<std::int32_t> : run_for_end<std::int64_t>;
    control.jump = distance(steps().size(), begin + 1);
    steps().push_back(control);
    steps()[begin].jump = distance(begin, steps().size());
  }

  void decode_if(const MachineInstruction& branch) {
    const std::size_t begin = steps().size();
    steps().push_back({.handler = run_unless, .in = {reg(branch.operands[0])}});
    decode_block(branch.blocks[0], false);
    copy_all(branch.results, 0, kernel_.blocks[branch.blocks[0]].yields);
    const std::size_t end_of_then = steps().size();
    steps().push_back({.handler = run_jump});
    steps()[begin].jump = distance(begin, steps().size());
    decode_block(branch.blocks[1], false);
    copy_all(branch.results, 0, kernel_.blocks[branch.blocks[1]].yields);
    steps()[end_of_then].jump = distance(end_of_then, steps().size());
  }

  Step decode_plain(const MachineInstruction& instruction) {
    Step step;
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) step.in[i] = reg(instruction.operands[i]);
    // What a step runs over: the lanes of its result, or of the last operand where there is none or it is a scalar.
    VectorType type;
    if (!instruction.operands.empty()) type = kernel_.types[instruction.operands.back()];
    const VectorType operand = type;
    if (!instruction.results.empty()) {
      step.out = reg(instruction.results[0]);
      type = kernel_.types[instruction.results[0]];
    }
    step.lanes = std::max(type.lanes, operand.lanes);
    step.immediate = instruction.immediate;
    step.handler = pick_handler(instruction, operand, type, step);
    MILLRACE_CHECK(step.handler != nullptr);
    return step;
  }

  Handler pick_handler(const MachineInstruction& instruction, const VectorType& operand, const VectorType& type,
                       Step& step) {
    switch (instruction.op) {
      case KernelOp::kConstant:
        return run_constant;
      case KernelOp::kBitcast:
        step.immediate = size_of(instruction.operands[0]);
        return run_copy;
      case KernelOp::kSize:
        return run_size;
      case KernelOp::kWorkgroupId:
        return run_workgroup_id;
      case KernelOp::kThreadId:
        step.immediate = 0;
        return run_constant;
      case KernelOp::kLaneIota:
        return lane_iota_handler(type.dtype);
      case KernelOp::kSplat:
        return splat_handler(type.dtype);
      case KernelOp::kExtract:
        step.in[0] += static_cast<std::uint32_t>(instruction.immediate * size_bytes(type.dtype));
        step.immediate = size_bytes(type.dtype);
        return run_copy;
      case KernelOp::kReduceAdd:
      case KernelOp::kReduceMul:
      case KernelOp::kReduceMin:
      case KernelOp::kReduceMax:
        step.in[1] = new_register(size_of(instruction.operands[0]));
        return reduce_handler(instruction.op, operand.dtype);
      case KernelOp::kShuffle:
      case KernelOp::kShuffleXor:  // a thread is its subgroup
        step.immediate = size_bytes(type.dtype);
        return run_copy;
      case KernelOp::kBallot:
        return convert_handler(DType::kBool, DType::kU64);
      case KernelOp::kReportError:
        return run_report_error;
      default:
        break;
    }
    if (is_lanewise(instruction.op)) return lanewise_handler(instruction.op, operand.dtype, type.dtype);
    const MemoryRef memory = MemoryRef::decode(instruction.immediate);
    step.memory = memory.index + (memory.is_slot ? static_cast<std::uint32_t>(kernel_.buffers.size()) : 0);
    const DType offset = kernel_.types[instruction.operands[0]].dtype;
    if (is_atomic(instruction.op)) return atomic_handler(instruction.op, type.dtype, offset);
    return memory_handler(instruction.op, type.dtype, offset);
  }

  const MachineKernel& kernel_;
  Program program_;
  std::vector<std::uint32_t> registers_;
  std::vector<bool> is_once_;
};

}  // namespace

Program decode(const MachineKernel& kernel) { return Decoder(kernel).run(); }

}  // namespace millrace::interpreter
