// SPDX-License-Identifier: Apache-2.0
// Imports arithmetic whose dtypes or number of operands differ from those of our ops.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "graph/import/onnx/ops/elementwise.h"
#include "graph/import/onnx/ops/old_broadcast.h"
#include "millrace/base/printable.h"

namespace millrace {

#define MILLRACE_ONNX_UNARY(name, since_version, function)
#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/activation.inc"
#undef MILLRACE_ONNX_UNARY
#undef MILLRACE_ONNX_OP

namespace {

/// Combines all operands, from the first to the last.
Result<Tensor> combine_all(OnnxNodeContext& node, BinaryFunction function) {
  MILLRACE_TRY_ASSIGN(const std::vector<Tensor> operands, node.tensors());
  if (operands.empty()) return invalid_argument(": has no operands");
  Tensor result = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    Tensor operand = operands[i];
    MILLRACE_TRY(node.match_dims({&result, &operand}));
    result = function(result, operand);
  }
  return result;
}

Result<OnnxResults> import_variadic(OnnxNodeContext& node, BinaryFunction function) {
  if (std::optional<OnnxResults> sizes = import_sizes(node)) return *std::move(sizes);
  MILLRACE_TRY_ASSIGN(const Tensor result, combine_all(node, function));
  return result;
}

}  // namespace

Result<OnnxResults> import_max(OnnxNodeContext& node) { return import_variadic(node, max); }
Result<OnnxResults> import_min(OnnxNodeContext& node) { return import_variadic(node, min); }
Result<OnnxResults> import_sum(OnnxNodeContext& node) { return import_variadic(node, add); }

Result<OnnxResults> import_mean(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor sum, combine_all(node, add));
  return sum / static_cast<double>(node.num_operands());
}

namespace {

/// The remainder with the sign of the divisor, as Python's %. A remainder of 0 has that sign too.
Tensor floor_remainder(Tensor x, Tensor y) {
  const Tensor remainder = rem(x, y);
  if (!remainder.is_valid() || is_unsigned(x.dtype())) return remainder;
  const Tensor is_below = less(y, 0);
  const Tensor moves = logical_and(not_equal(remainder, 0), logical_xor(less(remainder, 0), is_below));
  const Tensor moved = where(moves, remainder + y, remainder);
  if (!is_float(x.dtype())) return moved;
  const Tensor zero = x.builder()->fill(x.dtype(), {}, 0);
  return where(equal(remainder, 0), where(is_below, neg(zero), zero), moved);
}

}  // namespace

/// The remainder has the sign of the divisor, or with fmod, of the dividend. Before version 28, floats need fmod.
Result<OnnxResults> import_mod(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const bool is_fmod, node.flag_attribute("fmod", false));
  if (!is_fmod) {
    if (std::optional<OnnxResults> sizes = import_sizes(node)) return *std::move(sizes);
  }
  MILLRACE_TRY_ASSIGN(Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(Tensor y, node.tensor(1));
  if (!is_fmod && is_float(x.dtype()) && node.version() < 28) {
    return node.attribute_error("fmod", "found 0, expected 1 for floats before version 28");
  }
  MILLRACE_TRY(node.match_dims({&x, &y}));
  return is_fmod ? rem(x, y) : floor_remainder(x, y);
}

namespace {

/// How many bits of an exponent are used: the largest power of two that an integer holds is 2^63.
constexpr int kExponentBits = 6;

/// Whether bit `bit` of the number is set.
Tensor has_bit(Tensor number, int bit) {
  const Tensor mask = logical_and(number, std::int64_t{1} << bit);
  return not_equal(mask, 0);
}

/// x^y for integers, by squaring. Exponents of 64 or more count as 62 or 63, whichever has the same parity. That is
/// exact if x is -1, 0 or 1; no integer holds such a power of another x. Negative exponents give 1 / x^-y, rounded
/// towards zero.
Tensor integer_power(Tensor x, Tensor y) {
  Tensor exponent = cast(y, DType::kI64);
  const Tensor far = logical_and(exponent, 1) + 62;
  if (y.dtype() == DType::kU64) exponent = select(greater_equal(y, 64), far, exponent);
  const Tensor is_above = greater(exponent, -64);
  const Tensor is_near = logical_and(is_above, less(exponent, 64));
  const Tensor capped = select(is_near, abs(exponent), far);
  Tensor power = where(has_bit(capped, 0), x, Literal(1)), square = x;
  for (int bit = 1; bit < kExponentBits; ++bit) {
    square = square * square;
    power = where(has_bit(capped, bit), power * square, power);
  }
  if (is_unsigned(y.dtype())) return power;
  const Tensor inverse = where(equal(abs(x), 1), power, Literal(0));  // tests x, because the power may wrap to 1
  return where(less(exponent, 0), inverse, power);
}

/// Whether `dtype` is f32 or f64 and holds all the numbers exactly.
bool fit(std::span<const double> numbers, DType dtype) {
  if (dtype == DType::kF64) return true;
  return dtype == DType::kF32 &&
         std::ranges::all_of(numbers, [](double number) { return double{static_cast<float>(number)} == number; });
}

}  // namespace

/// The result has the base's dtype. Powers of integers are exact, or are computed in f64 if the exponents are floats.
Result<OnnxResults> import_pow(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor y, right_operand(node));
  MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> known, node.known(1));
  const std::vector<double> exponents = known ? numbers_of(*known) : std::vector<double>();
  const bool is_square = exponents.size() == 1 && exponents[0] == 2 && y.shape().rank() <= x.shape().rank();
  if (is_square) return x * x;
  if (x.dtype() == y.dtype() && is_float(x.dtype())) return pow(x, y);
  if (!is_float(x.dtype()) && !is_float(y.dtype())) return integer_power(x, y);
  const bool is_exact =
      (known && fit(exponents, x.dtype())) || (is_float(y.dtype()) && size_bytes(y.dtype()) < size_bytes(x.dtype()));
  if (is_float(x.dtype()) && is_exact) return pow(x, cast(y, x.dtype()));
  const Tensor base = cast(x, DType::kF64);
  return cast(pow(base, cast(y, DType::kF64)), x.dtype());
}

/// Shifts left by multiplying with a power of two, which may wrap to the lowest number of a signed dtype. Shifts right
/// by dividing. A division rounds a negative number up, so negative numbers are complemented before and after it.
Result<OnnxResults> import_bit_shift(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor y, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const std::string_view direction, node.text_attribute("direction"));
  if (direction != "LEFT" && direction != "RIGHT") {
    return node.attribute_error("direction", fmt::format("found '{}', expected LEFT or RIGHT", printable(direction)));
  }
  if (!is_integer(x.dtype())) {
    return node.operand_error(0, fmt::format("is {}, expected integers", x.type().to_text()));
  }
  const auto num_bits = static_cast<std::int64_t>(size_bytes(x.dtype())) * 8;
  Tensor power = node.graph().fill(x.dtype(), y.shape(), 1);
  for (int bit = 0; (1 << bit) < num_bits; ++bit) {
    const Tensor factor = power * (std::int64_t{1} << (1 << bit));
    power = where(has_bit(y, bit), factor, power);
  }
  // A count that is negative, or is the number of bits or more, shifts everything out.
  Tensor is_inside = less(y, num_bits);
  if (is_signed(x.dtype())) is_inside = logical_and(greater_equal(y, 0), is_inside);
  if (direction == "LEFT") return where(is_inside, x * power, Literal(0));
  if (is_unsigned(x.dtype())) return where(is_inside, x / power, Literal(0));
  const Tensor is_negative = less(x, 0);
  const Tensor size = select(is_negative, logical_not(x), x);
  const Tensor shifted = where(is_inside, size / power, Literal(0));
  return where(is_negative, logical_not(shifted), shifted);
}

/// A constant stays a constant.
Result<OnnxResults> import_bit_cast(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const DType to, node.dtype_attribute("to"));
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  if (to == type.dtype) return node.value(0);
  if (size_bytes(to) != size_bytes(type.dtype) || to == DType::kBool || type.dtype == DType::kBool) {
    return node.attribute_error(
        "to", fmt::format("found {}, expected a dtype as wide as {}", to_text(to), to_text(type.dtype)));
  }
  MILLRACE_TRY_ASSIGN(std::optional<OnnxConstant> known, node.known(0));
  if (known) {
    known->type.dtype = to;
    return *std::move(known);
  }
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  return bit_cast(x, to);
}

Result<OnnxResults> import_cast_like(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType like, node.type(1));
  node.ignore_attribute("saturate");    // only for 8-bit floats
  node.ignore_attribute("round_mode");  // only for 8-bit floats
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  return cast(x, like.dtype);
}

}  // namespace millrace
