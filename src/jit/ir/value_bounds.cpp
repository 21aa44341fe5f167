// SPDX-License-Identifier: Apache-2.0
// Bounds the scalar integers of a machine kernel in one pass over its instructions. The LLVM generator uses the bounds
// to tell which loop indices cannot overflow.
#include "jit/ir/value_bounds.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace millrace {
namespace {

ValueBounds add(const ValueBounds& a, const ValueBounds& b) {
  return {saturating::add(a.minimum, b.minimum), saturating::add(a.maximum, b.maximum)};
}

ValueBounds multiply(const ValueBounds& a, const ValueBounds& b) {
  const auto [lowest, highest] =
      std::minmax({saturating::multiply(a.minimum, b.minimum), saturating::multiply(a.minimum, b.maximum),
                   saturating::multiply(a.maximum, b.minimum), saturating::multiply(a.maximum, b.maximum)});
  return {lowest, highest};
}

/// The remainder has the dividend's sign.
ValueBounds remainder(const ValueBounds& a, const ValueBounds& b) {
  const ValueBounds all{std::min<std::int64_t>(a.minimum, 0), std::max<std::int64_t>(a.maximum, 0)};
  if (b.minimum <= 0) return all;
  return {std::max(all.minimum, 1 - b.maximum), std::min(all.maximum, b.maximum - 1)};
}

/// Bounds of x & y, for x in `a` and y in `b`. Precondition: at least one of them is never negative.
ValueBounds mask(const ValueBounds& a, const ValueBounds& b) {
  if (a.minimum < 0) return {0, b.maximum};
  return {0, b.minimum < 0 ? a.maximum : std::min(a.maximum, b.maximum)};
}

class BoundsFinder {
 public:
  explicit BoundsFinder(const MachineKernel& kernel) : kernel_(kernel) {
    for (const VectorType& type : kernel.types) bounds_.push_back(all_of(type));
  }

  IdVector<MachineValueId, ValueBounds> run() {
    walk(BlockId{0});
    return std::move(bounds_);
  }

 private:
  using Instruction = MachineInstruction;

  static ValueBounds all_of(const VectorType& type) {
    using I32 = std::numeric_limits<std::int32_t>;
    return type == VectorType{DType::kI32, 1} ? ValueBounds{I32::min(), I32::max()} : ValueBounds();
  }

  void walk(BlockId block) {
    for (const Instruction& instruction : kernel_.blocks[block].instructions) {
      if (instruction.op == KernelOp::kFor) {
        const std::int64_t lower = operand(instruction, 0).minimum, upper = operand(instruction, 1).maximum;
        set(kernel_.blocks[instruction.blocks[0]].parameters[0], {lower, std::max(lower, saturating::add(upper, -1))});
      }
      for (const BlockId inner : instruction.blocks) walk(inner);
      if (instruction.op != KernelOp::kFor && instruction.results.size() == 1) {
        set(instruction.results[0], find(instruction));
      }
    }
  }

  /// A result that may exceed the range of its dtype wraps, so it gets no bounds.
  void set(MachineValueId id, const ValueBounds& found) {
    const VectorType& type = kernel_.types[id];
    const bool is_counter = type == VectorType{DType::kI32, 1} || type == VectorType{DType::kI64, 1};
    const ValueBounds all = all_of(type);
    if (is_counter && found.minimum >= all.minimum && found.maximum <= all.maximum) bounds_[id] = found;
  }

  const ValueBounds& operand(const Instruction& instruction, std::size_t i) const {
    return bounds_[instruction.operands[i]];
  }

  ValueBounds find(const Instruction& instruction) const {
    const std::vector<MachineValueId>& operands = instruction.operands;
    const ValueBounds a = operands.empty() ? ValueBounds() : operand(instruction, 0);
    const ValueBounds b = operands.size() < 2 ? ValueBounds() : operand(instruction, 1);
    switch (instruction.op) {
      case KernelOp::kConstant:
        return constant(kernel_.types[instruction.results[0]], instruction.immediate);
      case KernelOp::kWorkgroupId:
        return {0, std::numeric_limits<std::uint32_t>::max()};
      case KernelOp::kThreadId:
        return {0, static_cast<std::int64_t>(kernel_.workgroup_size) - 1};
      case KernelOp::kConvert:
        return a;
      case KernelOp::kAdd:
        return exact(add(a, b));
      case KernelOp::kSub:
        return exact({saturating::subtract(a.minimum, b.maximum), saturating::subtract(a.maximum, b.minimum)});
      case KernelOp::kMul:
        return exact(multiply(a, b));
      case KernelOp::kMulAdd:
        return exact(add(exact(multiply(a, b)), operand(instruction, 2)));
      case KernelOp::kMin:
        return {std::min(a.minimum, b.minimum), std::min(a.maximum, b.maximum)};
      case KernelOp::kMax:
        return {std::max(a.minimum, b.minimum), std::max(a.maximum, b.maximum)};
      case KernelOp::kRem:
        return remainder(a, b);
      case KernelOp::kDiv:
        return a.minimum >= 0 && b.minimum >= 0 ? ValueBounds{0, a.maximum} : ValueBounds();
      case KernelOp::kShr:
        return a.minimum >= 0 ? ValueBounds{0, a.maximum} : ValueBounds();
      case KernelOp::kAnd:
        return a.minimum >= 0 || b.minimum >= 0 ? mask(a, b) : ValueBounds();
      default:
        return {};
    }
  }

  static ValueBounds constant(const VectorType& type, std::uint64_t bits) {
    const std::int64_t value =
        type.dtype == DType::kI32 ? static_cast<std::int32_t>(bits) : std::bit_cast<std::int64_t>(bits);
    return {value, value};
  }

  /// A saturated bound means that an i64 may have wrapped.
  static ValueBounds exact(const ValueBounds& found) {
    return saturating::is_end(found.minimum) || saturating::is_end(found.maximum) ? ValueBounds() : found;
  }

  const MachineKernel& kernel_;
  IdVector<MachineValueId, ValueBounds> bounds_;
};

}  // namespace

IdVector<MachineValueId, ValueBounds> find_value_bounds(const MachineKernel& kernel) {
  return BoundsFinder(kernel).run();
}

}  // namespace millrace
