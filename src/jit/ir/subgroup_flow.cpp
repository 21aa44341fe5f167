// SPDX-License-Identifier: Apache-2.0
// A divergence analysis of structured code, after Coutinho et al., "Divergence Analysis and Optimizations", PACT 2011,
// except that it tracks windows of numbers instead of affine values.
#include "jit/ir/subgroup_flow.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <span>

#include "millrace/base/check.h"

namespace millrace {
namespace {

constexpr LaneSpread kDivergent{.window_bits = LaneSpread::kNoWindow};

/// A value that is either `a` in all threads or `b` in all threads.
LaneSpread either(const LaneSpread& a, const LaneSpread& b) {
  return {.window_bits = std::max(a.window_bits, b.window_bits),
          .zero_bits = std::min(a.zero_bits, b.zero_bits),
          .is_non_negative = a.is_non_negative && b.is_non_negative,
          .needs_proof = a.needs_proof || b.needs_proof};
}

/// Whether all threads agree on a < b. They do if b does not split the window of a.
bool agree_on_less(const LaneSpread& a, const LaneSpread& b) {
  if (a.is_uniform() && b.is_uniform()) return true;
  return b.is_uniform() && b.zero_bits >= a.window_bits;
}

class FlowAnalysis {
 public:
  explicit FlowAnalysis(const MachineKernel& kernel) : kernel_(kernel), is_known_(kernel.types.size()) {
    flow_.values.resize(kernel.types.size());
    flow_.is_together.assign(kernel.blocks.size(), true);
  }

  SubgroupFlow run() {
    do {
      has_changed_ = false;
      walk_block(BlockId{0}, true);
    } while (has_changed_);
    return std::move(flow_);
  }

 private:
  using Instruction = MachineInstruction;

  const LaneSpread& value(MachineValueId id) const { return flow_.values[id]; }
  const LaneSpread& operand(const Instruction& instruction, std::size_t i) const {
    return value(instruction.operands[i]);
  }
  bool are_uniform(std::span<const MachineValueId> ids) const {
    return std::ranges::all_of(ids, [&](MachineValueId id) { return value(id).is_uniform(); });
  }
  bool need_proof(std::span<const MachineValueId> ids) const {
    return std::ranges::any_of(ids, [&](MachineValueId id) { return value(id).needs_proof; });
  }

  /// Facts about a value are only removed, never added, so the iteration ends.
  void define(MachineValueId id, LaneSpread spread) {
    LaneSpread& known = flow_.values[id];
    if (is_known_[index_of(id)]) spread = either(known, spread);
    is_known_[index_of(id)] = true;
    if (known == spread) return;
    known = spread;
    has_changed_ = true;
  }

  void walk_block(BlockId id, bool is_together) {
    flow_.is_together[index_of(id)] = is_together;
    for (const Instruction& instruction : kernel_.blocks[id].instructions) {
      if (instruction.op == KernelOp::kFor) {
        walk_for(instruction, is_together);
      } else if (instruction.op == KernelOp::kIf) {
        walk_if(instruction, is_together);
      } else if (!instruction.results.empty()) {
        define(instruction.results[0], spread_of(instruction));
      }
    }
  }

  void walk_for(const Instruction& loop, bool is_together) {
    const Block& body = kernel_.blocks[loop.blocks[0]];
    const LaneSpread &lower = operand(loop, 0), &step = operand(loop, 2);
    define(body.parameters[0], step.is_uniform() ? sum(lower, step) : kDivergent);
    for (std::size_t i = 1; i < body.parameters.size(); ++i) define(body.parameters[i], operand(loop, 2 + i));
    const BranchSpread iterations = spread_of_branch(kernel_, flow_, loop);
    walk_block(loop.blocks[0], is_together && iterations.agrees);
    for (std::size_t i = 0; i < body.yields.size(); ++i) {
      define(body.parameters[i + 1], value(body.yields[i]));
      define_merged(loop.results[i], iterations, operand(loop, 3 + i), value(body.yields[i]));
    }
  }

  void walk_if(const Instruction& branch, bool is_together) {
    const BranchSpread choice = spread_of_branch(kernel_, flow_, branch);
    for (const BlockId block : branch.blocks) walk_block(block, is_together && choice.agrees);
    const auto &first = kernel_.blocks[branch.blocks[0]].yields, &second = kernel_.blocks[branch.blocks[1]].yields;
    for (std::size_t i = 0; i < branch.results.size(); ++i) {
      define_merged(branch.results[i], choice, value(first[i]), value(second[i]));
    }
  }

  /// A value that comes from one of two paths, such as the branches of an `if`.
  void define_merged(MachineValueId id, const BranchSpread& ways, const LaneSpread& a, const LaneSpread& b) {
    LaneSpread merged = ways.agrees ? either(a, b) : kDivergent;
    merged.needs_proof |= ways.needs_proof;
    define(id, merged);
  }

  std::optional<std::uint64_t> constant(MachineValueId id) {
    if (constants_.empty()) {
      for (const Block& block : kernel_.blocks) {
        for (const Instruction& instruction : block.instructions) {
          if (instruction.op == KernelOp::kConstant) constants_[instruction.results[0]] = instruction.immediate;
        }
      }
    }
    const auto found = constants_.find(id);
    if (found == constants_.end()) return {};
    return found->second;
  }
  /// n, if the value is the constant 2^n.
  std::optional<std::uint8_t> power_of_two(MachineValueId id) {
    const std::optional<std::uint64_t> bits = constant(id);
    const bool is_power = bits && std::has_single_bit(*bits) && is_integer(kernel_.types[id].dtype);
    return is_power ? std::optional(static_cast<std::uint8_t>(std::countr_zero(*bits))) : std::nullopt;
  }

  static LaneSpread of_constant(DType dtype, std::uint64_t bits) {
    if (!is_integer(dtype)) return {};
    const std::uint32_t width = num_bits(dtype);
    const auto zeros = static_cast<std::uint32_t>(std::countr_zero(bits));
    return {.zero_bits = static_cast<std::uint8_t>(std::min(zeros, width)),
            .is_non_negative = !is_signed(dtype) || (bits >> (width - 1) & 1) == 0};
  }

  /// a + b or a - b: a window stays aligned if the other value is uniform and a multiple of the window's size.
  static LaneSpread sum(const LaneSpread& a, const LaneSpread& b) {
    LaneSpread spread{.zero_bits = std::min(a.zero_bits, b.zero_bits), .needs_proof = a.needs_proof || b.needs_proof};
    if (a.is_uniform() && b.is_uniform()) return spread;
    const LaneSpread& moved = a.is_uniform() ? b : a;
    const LaneSpread& by = a.is_uniform() ? a : b;
    spread.window_bits =
        by.is_uniform() && by.zero_bits >= moved.window_bits ? moved.window_bits : kDivergent.window_bits;
    return spread;
  }

  /// x * 2^bits, or x / 2^-bits rounded down if `bits` is negative.
  static LaneSpread scaled(LaneSpread x, int bits, DType dtype) {
    if (x.window_bits == LaneSpread::kNoWindow) return kDivergent;
    const auto moved = [&](std::uint8_t from) {
      return static_cast<std::uint8_t>(std::clamp(from + bits, 0, static_cast<int>(num_bits(dtype))));
    };
    const bool was_uniform = x.is_uniform();
    x.window_bits = was_uniform ? std::uint8_t{0} : moved(x.window_bits);
    x.zero_bits = moved(x.zero_bits);
    x.is_non_negative = x.is_non_negative && bits <= 0;
    x.needs_proof |= !was_uniform && x.is_uniform();
    return in_dtype(x, dtype);
  }

  static std::uint32_t num_bits(DType dtype) { return static_cast<std::uint32_t>(size_bytes(dtype) * 8); }

  /// If numbers wrap, so do windows. A window of all numbers counts as kNoWindow.
  static LaneSpread in_dtype(const LaneSpread& spread, DType dtype) {
    return spread.window_bits < num_bits(dtype) ? spread : kDivergent;
  }

  /// a <= b is !(b < a).
  LaneSpread spread_of_compare(const Instruction& compare) const {
    const LaneSpread &a = operand(compare, 0), &b = operand(compare, 1);
    if (are_uniform(compare.operands)) return {.needs_proof = need_proof(compare.operands)};
    const bool agree = compare.op == KernelOp::kLt   ? agree_on_less(a, b)
                       : compare.op == KernelOp::kLe ? agree_on_less(b, a)
                                                     : false;
    return agree ? LaneSpread{.needs_proof = true} : kDivergent;
  }

  LaneSpread spread_of_bits(const Instruction& instruction) {
    const LaneSpread &a = operand(instruction, 0), &b = operand(instruction, 1);
    LaneSpread spread = either(a, b);
    if (instruction.op != KernelOp::kAnd) return spread;
    spread.zero_bits = std::max(a.zero_bits, b.zero_bits);
    spread.is_non_negative = a.is_non_negative || b.is_non_negative;
    const LaneSpread &mask = a.is_uniform() ? a : b, &masked = a.is_uniform() ? b : a;
    const bool drops_window = !spread.is_uniform() && mask.is_uniform() && mask.zero_bits >= masked.window_bits;
    if (drops_window) spread.window_bits = 0;
    spread.needs_proof |= drops_window;
    return spread;
  }

  LaneSpread spread_of_convert(const Instruction& instruction) const {
    const DType from = kernel_.types[instruction.operands[0]].dtype, to = kernel_.types[instruction.results[0]].dtype;
    LaneSpread spread = operand(instruction, 0);
    if (!is_integer(from) || !is_integer(to)) {
      return spread.is_uniform() ? LaneSpread{.needs_proof = spread.needs_proof} : kDivergent;
    }
    spread.is_non_negative = spread.is_non_negative && num_bits(to) > num_bits(from);
    return in_dtype(spread, to);
  }

  LaneSpread spread_of_scaling(const Instruction& instruction) {
    const LaneSpread& x = operand(instruction, 0);
    const DType dtype = kernel_.types[instruction.results[0]].dtype;
    switch (instruction.op) {
      case KernelOp::kMul:
        if (const auto bits = power_of_two(instruction.operands[1])) return scaled(x, *bits, dtype);
        if (const auto bits = power_of_two(instruction.operands[0]))
          return scaled(operand(instruction, 1), *bits, dtype);
        break;
      case KernelOp::kDiv:  // rounds towards zero, so it is a shift only for non-negative numbers
        if (const auto bits = power_of_two(instruction.operands[1]); bits && x.is_non_negative)
          return scaled(x, -*bits, dtype);
        break;
      default: {
        const auto count = constant(instruction.operands[1]);
        if (!count) break;
        const int bits = static_cast<int>(*count % num_bits(dtype));
        return scaled(x, instruction.op == KernelOp::kShl ? bits : -bits, dtype);
      }
    }
    return spread_of_any(instruction);
  }

  /// Uniform if all operands are.
  LaneSpread spread_of_any(const Instruction& instruction) const {
    return are_uniform(instruction.operands) ? LaneSpread{.needs_proof = need_proof(instruction.operands)} : kDivergent;
  }

  LaneSpread spread_of_memory(const Instruction& load) const {
    const MemoryRef memory = MemoryRef::decode(load.immediate);
    const bool is_private = memory.is_slot && kernel_.slots[memory.index].kind == MemoryKind::kPrivate;
    return is_private ? kDivergent : spread_of_any(load);
  }

  LaneSpread spread_of(const Instruction& instruction) {
    switch (instruction.op) {
      case KernelOp::kConstant:
        return of_constant(kernel_.types[instruction.results[0]].dtype, instruction.immediate);
      case KernelOp::kThreadId:
        return {.window_bits = static_cast<std::uint8_t>(std::countr_zero(kernel_.subgroup_size)),
                .is_non_negative = true};
      case KernelOp::kAdd:
      case KernelOp::kSub:
        if (!is_integer(kernel_.types[instruction.results[0]].dtype)) return spread_of_any(instruction);
        return instruction.op == KernelOp::kSub && operand(instruction, 0).is_uniform()
                   ? spread_of_any(instruction)  // subtraction reverses b's window, which is then not aligned
                   : sum(operand(instruction, 0), operand(instruction, 1));
      case KernelOp::kMul:
      case KernelOp::kDiv:
      case KernelOp::kShl:
      case KernelOp::kShr:
        return spread_of_scaling(instruction);
      case KernelOp::kAnd:
      case KernelOp::kOr:
      case KernelOp::kXor:
        return spread_of_bits(instruction);
      case KernelOp::kEq:
      case KernelOp::kNe:
      case KernelOp::kLt:
      case KernelOp::kLe:
        return spread_of_compare(instruction);
      case KernelOp::kConvert:
        return spread_of_convert(instruction);
      case KernelOp::kSplat:
      case KernelOp::kExtract:
      case KernelOp::kShuffleXor:
        return operand(instruction, 0);
      case KernelOp::kShuffle:  // all values lie in one window, so it does not matter which thread's value is read
        if (!operand(instruction, 1).is_uniform()) return operand(instruction, 0);
        return {.needs_proof = !constant(instruction.operands[1])};
      case KernelOp::kBallot:
        return {};
      case KernelOp::kLoadVector:
      case KernelOp::kLoadMasked:
      case KernelOp::kGather:
        return spread_of_memory(instruction);
      case KernelOp::kAtomicAdd:
      case KernelOp::kAtomicMin:
      case KernelOp::kAtomicMax:
      case KernelOp::kAtomicOr:
      case KernelOp::kAtomicExchange:
        return kDivergent;
      default:
        return spread_of_any(instruction);
    }
  }

  const MachineKernel& kernel_;
  SubgroupFlow flow_;
  std::vector<bool> is_known_;
  std::map<MachineValueId, std::uint64_t> constants_;
  bool has_changed_ = false;
};

}  // namespace

BranchSpread spread_of_branch(const MachineKernel& kernel, const SubgroupFlow& flow, const MachineInstruction& branch) {
  if (branch.op == KernelOp::kIf) {
    const LaneSpread& condition = flow.values[branch.operands[0]];
    return {condition.is_uniform(), condition.needs_proof};
  }
  const LaneSpread& index = flow.values[kernel.blocks[branch.blocks[0]].parameters[0]];
  const LaneSpread& upper = flow.values[branch.operands[1]];
  return {agree_on_less(index, upper), !index.is_uniform() || index.needs_proof || upper.needs_proof};
}

SubgroupFlow analyze_subgroup_flow(const MachineKernel& kernel) { return FlowAnalysis(kernel).run(); }

bool exchanges_lanes(KernelOp op) {
  return op == KernelOp::kShuffle || op == KernelOp::kShuffleXor || op == KernelOp::kBallot;
}

bool exchanges_lanes(const MachineKernel& kernel, BlockId block) {
  return std::ranges::any_of(kernel.blocks[block].instructions, [&](const MachineInstruction& instruction) {
    return exchanges_lanes(instruction.op) ||
           std::ranges::any_of(instruction.blocks, [&](BlockId inner) { return exchanges_lanes(kernel, inner); });
  });
}

}  // namespace millrace
