// SPDX-License-Identifier: Apache-2.0
// Turns the body of an elementwise kernel into lane instructions.
#include "jit/lanes/body_lanes.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "jit/lanes/element_lanes.h"

namespace millrace {
namespace {

/// Empty for an op without a lane instruction.
using MaybeLane = std::optional<LaneValue>;

/// A kernel op that one lane op computes.
struct OneOp {
  KernelOp op;
  LaneOp lanes;
};
constexpr OneOp kFloatOps[] = {{KernelOp::kAdd, LaneOp::kAddFloat},
                               {KernelOp::kSub, LaneOp::kSubFloat},
                               {KernelOp::kMul, LaneOp::kMulFloat},
                               {KernelOp::kDiv, LaneOp::kDivFloat}};
constexpr OneOp kBitOps[] = {
    {KernelOp::kAnd, LaneOp::kAnd}, {KernelOp::kOr, LaneOp::kOr}, {KernelOp::kXor, LaneOp::kXor}};
constexpr OneOp kBoolOps[] = {{KernelOp::kAnd, LaneOp::kAnd}, {KernelOp::kOr, LaneOp::kOr},
                              {KernelOp::kXor, LaneOp::kXor}, {KernelOp::kMul, LaneOp::kAnd},
                              {KernelOp::kMin, LaneOp::kAnd}, {KernelOp::kMax, LaneOp::kOr}};

class BodyLanes {
 public:
  explicit BodyLanes(LaneBuilder& b) : b_(b) {}

  MaybeLane arithmetic(KernelOp op, DType dtype, std::span<const LaneValue> x) {
    if (op == KernelOp::kSelect) return b_.select(is_false(x[0]), x[2], x[1]);
    if (const MaybeLane is_true = compared(op, dtype, x)) return is_true;
    if (dtype == DType::kBool) return of_one_op(kBoolOps, op, x);
    return is_float(dtype) ? of_floats(op, dtype, x) : of_integers(op, dtype, x);
  }

  MaybeLane converted(DType from, DType to, LaneValue x) {
    if (is_float(from) && size_bytes(from) == 2) {
      return to == DType::kF32 ? MaybeLane(widen_float(b_, x, from)) : std::nullopt;
    }
    if (is_float(from) && to == DType::kBool) {
      return truth(b_.invert(is_false(b_.binary(LaneOp::kAnd, x, b_.constant(magnitude_of(from))))));
    }
    if (from == DType::kF32) return from_float(to, x);
    if (is_float(from)) return std::nullopt;
    if (to == DType::kF32) return from == DType::kU32 ? std::nullopt : MaybeLane(b_.unary(LaneOp::kFromInt, x));
    if (is_float(to)) return std::nullopt;
    return to == DType::kBool ? truth(b_.invert(is_false(x))) : wrapped(x, to);
  }

  LaneValue constant(DType dtype, std::uint64_t bits) {
    const unsigned unused = 64 - 8 * static_cast<unsigned>(size_bytes(dtype));
    const auto high = static_cast<std::int64_t>(bits << unused);
    const bool extends_sign = is_signed(dtype) || lane_bits_of_dtype(dtype) == b_.lane_bits();
    return b_.constant(extends_sign ? high >> unused : static_cast<std::int64_t>(bits));
  }

  /// Truncates an integer to its dtype, and extends it to the lane again.
  LaneValue wrapped(LaneValue x, DType dtype) {
    const int unused = b_.lane_bits() - lane_bits_of_dtype(dtype);
    if (unused == 0 || dtype == DType::kBool) return x;
    if (!is_signed(dtype)) return b_.binary(LaneOp::kAnd, x, b_.constant(2 * magnitude_of(dtype) + 1));
    return b_.unary(LaneOp::kShiftRightSigned, b_.unary(LaneOp::kShiftLeft, x, unused), unused);
  }

 private:
  static int lane_bits_of_dtype(DType dtype) { return 8 * static_cast<int>(size_bytes(dtype)); }

  LaneValue is_false(LaneValue x) { return b_.binary(LaneOp::kEqual, x, b_.constant(0)); }
  /// Converts a mask to 0 and 1 immediately, because there are few mask registers.
  LaneValue truth(LaneValue mask) { return b_.select(mask, b_.constant(1), b_.constant(0)); }
  LaneValue inverse_truth(LaneValue mask) { return b_.select(mask, b_.constant(0), b_.constant(1)); }

  MaybeLane of_floats(KernelOp op, DType dtype, std::span<const LaneValue> x) {
    switch (op) {
      case KernelOp::kNeg:
        return invert_bits(b_, x[0], ~magnitude_of(dtype));
      case KernelOp::kAbs:
        return b_.binary(LaneOp::kAnd, x[0], b_.constant(magnitude_of(dtype)));
      case KernelOp::kMin:
        return extreme(LaneOp::kMinFloat, LaneOp::kOr, x);
      case KernelOp::kMax:
        return extreme(LaneOp::kMaxFloat, LaneOp::kAnd, x);
      default:
        return of_one_op(kFloatOps, op, x);
    }
  }

  /// The minimum or maximum. For zeros and NaNs, the result of the instruction depends on the order of the operands. So
  /// both orders are computed: `join` combines their bits, which is right for zeros, and a sum propagates NaNs.
  LaneValue extreme(LaneOp op, LaneOp join, std::span<const LaneValue> x) {
    const LaneValue joined = b_.binary(join, b_.binary(op, x[0], x[1]), b_.binary(op, x[1], x[0]));
    const LaneValue nan = b_.binary(LaneOp::kAddFloat, x[0], x[1]);
    return b_.select(b_.binary(LaneOp::kUnordered, x[0], x[1]), nan, joined);
  }

  /// The truth of a comparison; empty for other ops.
  MaybeLane compared(KernelOp op, DType dtype, std::span<const LaneValue> x) {
    switch (op) {
      case KernelOp::kEq:
        return truth(are_equal(dtype, x));
      case KernelOp::kNe:
        return inverse_truth(are_equal(dtype, x));
      case KernelOp::kLt:
        return truth(is_float(dtype) ? b_.binary(LaneOp::kLessFloat, x[0], x[1]) : is_less(dtype, x[0], x[1]));
      case KernelOp::kLe:
        return inverse_truth(is_float(dtype) ? b_.binary(LaneOp::kNotAtMostFloat, x[0], x[1])
                                             : is_less(dtype, x[1], x[0]));
      default:
        return std::nullopt;
    }
  }
  LaneValue is_less(DType dtype, LaneValue a, LaneValue b) {
    return b_.binary(LaneOp::kLess, inverted_sign(a, dtype), inverted_sign(b, dtype));
  }
  /// Two floats are equal unless one is above the other or one is a NaN.
  LaneValue are_equal(DType dtype, std::span<const LaneValue> x) {
    if (!is_float(dtype)) return b_.binary(LaneOp::kEqual, x[0], x[1]);
    const LaneValue differ = b_.binary(LaneOp::kEither, b_.binary(LaneOp::kNotAtMostFloat, x[0], x[1]),
                                       b_.binary(LaneOp::kNotAtMostFloat, x[1], x[0]));
    return b_.invert(differ);
  }

  MaybeLane of_integers(KernelOp op, DType dtype, std::span<const LaneValue> x) {
    switch (op) {
      case KernelOp::kAdd:
        return wrapped(b_.binary(LaneOp::kAdd, x[0], x[1]), dtype);
      case KernelOp::kSub:
        return wrapped(b_.binary(LaneOp::kSub, x[0], x[1]), dtype);
      case KernelOp::kMul:
        return wrapped(b_.binary(LaneOp::kMul, x[0], x[1]), dtype);
      case KernelOp::kNeg:
        return wrapped(negative(x[0]), dtype);
      case KernelOp::kAbs:
        return is_signed(dtype) ? b_.binary(LaneOp::kMax, x[0], wrapped(negative(x[0]), dtype)) : x[0];
      case KernelOp::kMin:
      case KernelOp::kMax:
        return inverted_sign(b_.binary(op == KernelOp::kMin ? LaneOp::kMin : LaneOp::kMax, inverted_sign(x[0], dtype),
                                       inverted_sign(x[1], dtype)),
                             dtype);
      default:
        return of_one_op(kBitOps, op, x);
    }
  }

  MaybeLane of_one_op(std::span<const OneOp> ops, KernelOp op, std::span<const LaneValue> x) {
    const auto found = std::ranges::find(ops, op, &OneOp::op);
    return found == ops.end() ? std::nullopt : MaybeLane(b_.binary(found->lanes, x[0], x[1]));
  }

  LaneValue negative(LaneValue x) { return b_.binary(LaneOp::kSub, b_.constant(0), x); }
  /// Maps unsigned integers as wide as a lane to signed ones in the same order, and back.
  LaneValue inverted_sign(LaneValue x, DType dtype) {
    const bool inverts = !is_signed(dtype) && lane_bits_of_dtype(dtype) == b_.lane_bits();
    return invert_bits(b_, x, inverts ? ~magnitude_of(dtype) : 0);
  }

  MaybeLane from_float(DType to, LaneValue x) {
    if (is_float(to) && size_bytes(to) == 2) return narrow_float(b_, x, to);
    if (is_float(to) || to == DType::kU32) return std::nullopt;
    // kToInt gives the lowest integer for every float out of range. For floats below the range, this is correct. For
    // floats above it, the bits are inverted, which gives the highest integer. A NaN becomes 0.
    constexpr std::int64_t kTwoToThe31 = 0x4f00'0000;
    const LaneValue truncated = b_.unary(LaneOp::kToInt, x);
    const LaneValue inverted = b_.binary(LaneOp::kXor, truncated, b_.constant(-1));
    const LaneValue fits = b_.binary(LaneOp::kLessFloat, x, b_.constant(kTwoToThe31));
    const LaneValue saturated = b_.select(fits, truncated, inverted);
    const LaneValue number = b_.select(b_.binary(LaneOp::kUnordered, x, x), b_.constant(0), saturated);
    if (size_bytes(to) == 4) return number;
    const std::int64_t max = is_signed(to) ? magnitude_of(to) : 2 * magnitude_of(to) + 1;
    const std::int64_t min = is_signed(to) ? ~max : 0;
    return b_.binary(LaneOp::kMin, b_.binary(LaneOp::kMax, number, b_.constant(min)), b_.constant(max));
  }

  LaneBuilder& b_;
};

}  // namespace

Result<int> lane_bits_of(const Body& body) {
  std::optional<DType> wide, narrow_float;
  for (const BodyInstruction& instruction : body.instructions) {
    if (size_bytes(instruction.dtype) == 8) wide = instruction.dtype;
    if (is_float(instruction.dtype) && size_bytes(instruction.dtype) < 8) narrow_float = instruction.dtype;
  }
  if (wide && narrow_float) {
    return unimplemented(
        fmt::format("{} and {} in one body, expected one width", to_text(*narrow_float), to_text(*wide)));
  }
  return wide ? 64 : 32;
}

Result<LaneValue> append_body(LaneBuilder& b, const Body& body, std::span<const LaneValue> loads) {
  BodyLanes lanes(b);
  std::vector<LaneValue> values;
  for (const BodyInstruction& instruction : body.instructions) {
    std::vector<LaneValue> x;
    for (unsigned i = 0; i < instruction.num_operands; ++i) x.push_back(values[index_of(instruction.operands[i])]);
    // The dtype of a select or comparison is that of the values that it selects or compares.
    const unsigned typed = instruction.op == KernelOp::kSelect ? 1 : 0;
    const DType from =
        instruction.num_operands > 0 ? body.instructions[instruction.operands[typed]].dtype : instruction.dtype;
    MaybeLane value;
    if (instruction.op == KernelOp::kConstant) {
      value = lanes.constant(instruction.dtype, instruction.immediate);
    } else if (instruction.op == KernelOp::kLoad) {
      if (instruction.num_operands == 0) value = loads[instruction.immediate];
    } else if (instruction.op == KernelOp::kConvert) {
      value = lanes.converted(from, instruction.dtype, x[0]);
    } else if (instruction.op == KernelOp::kBitcast) {
      value = is_float(instruction.dtype) ? x[0] : lanes.wrapped(x[0], instruction.dtype);
    } else if (is_lanewise(instruction.op)) {
      value = lanes.arithmetic(instruction.op, from, x);
    }
    if (!value) {
      const std::string to =
          instruction.op == KernelOp::kConvert ? fmt::format(" to {}", to_text(instruction.dtype)) : "";
      return unimplemented(
          fmt::format("{} of {}{} has no lane instruction", to_text(instruction.op), to_text(from), to));
    }
    values.push_back(*value);
  }
  return values[index_of(body.yields[0])];
}

LaneValue widen_element(LaneBuilder& b, LaneValue x, DType stored) {
  return stored == DType::kBool ? true_is_one(b, x) : widen_float(b, x, stored);
}

LaneValue narrow_element(LaneBuilder& b, LaneValue x, DType stored) {
  if (body_dtype(stored) == stored) return x;
  x = b.unary(LaneOp::kShiftLeft, narrow_float(b, x, stored), 16);
  return b.unary(LaneOp::kShiftRightSigned, x, 16);
}

}  // namespace millrace
