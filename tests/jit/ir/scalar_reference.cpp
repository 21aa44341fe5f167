// SPDX-License-Identifier: Apache-2.0
#include "tests/jit/ir/scalar_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "millrace/base/check.h"

namespace millrace::test {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 WideBits;

std::uint64_t width_of(DType dtype) { return dtype == DType::kBool ? 1 : 8 * size_bytes(dtype); }

/// The integer that the scalar stands for.
Wide to_wide(Scalar x) {
  const Wide value = x.bits;
  const Wide end = Wide{1} << width_of(x.dtype);
  return is_signed(x.dtype) && value >= end / 2 ? value - end : value;
}

/// Modulo 2^width.
Scalar wrap(DType dtype, Wide value) {
  const Wide end = Wide{1} << width_of(dtype);
  return {dtype, static_cast<std::uint64_t>(((value % end) + end) % end)};
}

/// The low bits of a product, which may have more than Wide has.
Wide product(DType dtype, Wide a, Wide b) {
  const WideBits bits = static_cast<WideBits>(a) * static_cast<WideBits>(b);
  return static_cast<Wide>(bits & ((WideBits{1} << width_of(dtype)) - 1));
}

Scalar integer_value(KernelOp op, DType dtype, std::span<const Scalar> x) {
  const Wide a = to_wide(x[0]);
  const Wide b = x.size() > 1 ? to_wide(x[1]) : 0;
  const Wide width = static_cast<Wide>(width_of(dtype));
  const Wide count = ((b % width) + width) % width;
  switch (op) {
    case KernelOp::kAdd:
      return wrap(dtype, a + b);
    case KernelOp::kSub:
      return wrap(dtype, a - b);
    case KernelOp::kMul:
      return wrap(dtype, product(dtype, a, b));
    case KernelOp::kDiv:
      return wrap(dtype, b == 0 ? 0 : a / b);
    case KernelOp::kRem:
      return wrap(dtype, b == 0 ? 0 : a % b);
    case KernelOp::kMulAdd:
      return wrap(dtype, product(dtype, a, b) + to_wide(x[2]));
    case KernelOp::kNeg:
      return wrap(dtype, -a);
    case KernelOp::kAbs:
      return wrap(dtype, a < 0 ? -a : a);
    case KernelOp::kMin:
      return wrap(dtype, a < b ? a : b);
    case KernelOp::kMax:
      return wrap(dtype, a > b ? a : b);
    case KernelOp::kAnd:
      return {dtype, x[0].bits & x[1].bits};
    case KernelOp::kOr:
      return {dtype, x[0].bits | x[1].bits};
    case KernelOp::kXor:
      return {dtype, x[0].bits ^ x[1].bits};
    case KernelOp::kShl:
      return wrap(dtype, static_cast<Wide>(x[0].bits) << count);
    case KernelOp::kShr: {
      const Wide divisor = Wide{1} << count;
      return wrap(dtype, a >= 0 ? a / divisor : -((-a + divisor - 1) / divisor));
    }
    default:
      MILLRACE_CHECK(false);
  }
  __builtin_unreachable();
}

long double to_long_double(Scalar x) {
  switch (x.dtype) {
    case DType::kF32:
      return x.as<float>();
    case DType::kF64:
      return x.as<double>();
    case DType::kF16:
    case DType::kBF16: {
      const int fraction_bits = x.dtype == DType::kF16 ? 10 : 7;
      const int bias = x.dtype == DType::kF16 ? 15 : 127;
      const int exponents = 2 * bias + 1;
      const auto fraction = static_cast<long double>(x.bits & ((1u << fraction_bits) - 1));
      const int exponent = static_cast<int>(x.bits >> fraction_bits) & exponents;
      const long double sign = (x.bits >> 15) != 0 ? -1 : 1;
      if (exponent == exponents) return fraction == 0 ? sign * HUGE_VALL : std::nanl("");
      if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
      return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    }
    default:
      return static_cast<long double>(to_wide(x));  // exact: 64 bits of significand
  }
}

/// Rounds to `precision` bits and exponents of at least `min_exponent`, half to even, by long double's own exact steps.
long double round_to(long double value, int precision, int min_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - precision, min_exponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

Scalar from_long_double(DType dtype, long double value) {
  if (dtype == DType::kF64) return Scalar::of(static_cast<double>(value));
  if (dtype == DType::kF32) return Scalar::of(static_cast<float>(value));
  MILLRACE_CHECK(!is_float(dtype) || size_bytes(dtype) == 2);
  if (dtype == DType::kBool) return {dtype, value != 0};
  if (!is_float(dtype)) {
    if (std::isnan(value)) return {dtype, 0};
    const Wide end = Wide{1} << (width_of(dtype) - (is_signed(dtype) ? 1 : 0));
    const Wide lowest = is_signed(dtype) ? -end : 0;
    if (value >= static_cast<long double>(end)) return wrap(dtype, end - 1);
    if (value <= static_cast<long double>(lowest)) return wrap(dtype, lowest);
    return wrap(dtype, static_cast<Wide>(value));
  }
  const int fraction_bits = dtype == DType::kF16 ? 10 : 7;
  const int bias = dtype == DType::kF16 ? 15 : 127;
  const std::uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  const auto infinity = static_cast<std::uint64_t>(2 * bias + 1) << fraction_bits;
  if (std::isnan(value)) return {dtype, sign | infinity | 1u << (fraction_bits - 1)};
  const int min_exponent = 1 - bias - fraction_bits;
  const long double rounded = std::fabs(round_to(value, fraction_bits + 1, min_exponent));
  if (rounded >= std::ldexp(1.0L, bias + 1)) return {dtype, sign | infinity};
  if (rounded < std::ldexp(1.0L, 1 - bias)) {
    return {dtype, sign | static_cast<std::uint64_t>(std::ldexp(rounded, -min_exponent))};
  }
  int exponent = 0;
  const long double significand = std::frexp(rounded, &exponent);  // in [0.5, 1)
  const auto fraction = static_cast<std::uint64_t>(std::ldexp(significand, fraction_bits + 1));
  return {dtype, sign | ((static_cast<std::uint64_t>(exponent - 2 + bias) << fraction_bits) + fraction)};
}

/// The lesser, for kMin, of two floats that are not NaN: -0 is below +0.
bool is_below(long double a, long double b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }

template <class T>
T float_value(KernelOp op, std::span<const Scalar> x) {
  const T a = x[0].as<T>();
  const T b = x.size() > 1 ? x[1].as<T>() : T(0);
  const bool has_nan = std::isnan(a) || std::isnan(b);
  switch (op) {
    case KernelOp::kAdd:
      return a + b;
    case KernelOp::kSub:
      return a - b;
    case KernelOp::kMul:
      return a * b;
    case KernelOp::kDiv:
      return a / b;
    case KernelOp::kMulAdd:
      return std::fma(a, b, x[2].as<T>());
    case KernelOp::kNeg:
      return std::copysign(a, std::signbit(a) ? T(1) : T(-1));
    case KernelOp::kAbs:
      return std::copysign(a, T(1));
    case KernelOp::kMin:
      return has_nan ? std::numeric_limits<T>::quiet_NaN() : is_below(b, a) ? b : a;
    case KernelOp::kMax:
      return has_nan ? std::numeric_limits<T>::quiet_NaN() : is_below(a, b) ? b : a;
    case KernelOp::kFloor:
      return std::floor(a);
    case KernelOp::kCeil:
      return std::ceil(a);
    case KernelOp::kTrunc:
      return std::trunc(a);
    case KernelOp::kRoundEven:
      return std::isinf(a) ? a : std::copysign(a - std::remainder(a, T(1)), a);
    case KernelOp::kSqrt:
      return std::sqrt(a);
    default:
      MILLRACE_CHECK(false);
  }
  __builtin_unreachable();
}

bool compare(KernelOp op, Scalar x, Scalar y) {
  const long double a = to_long_double(x);
  const long double b = to_long_double(y);
  switch (op) {
    case KernelOp::kEq:
      return a == b;
    case KernelOp::kNe:
      return a != b;
    case KernelOp::kLt:
      return a < b;
    case KernelOp::kLe:
      return a <= b;
    default:
      MILLRACE_CHECK(false);
  }
  __builtin_unreachable();
}

}  // namespace

Scalar reference_value(KernelOp op, DType result, std::span<const Scalar> x) {
  switch (rule_of(op)) {
    case KernelOpRule::kCompare:
      return Scalar::of(compare(op, x[0], x[1]));
    case KernelOpRule::kSelect:
      return x[0].bits != 0 ? x[1] : x[2];
    case KernelOpRule::kConvert:
      if (op == KernelOp::kBitcast) return {result, x[0].bits};
      if (is_float(result) || is_float(x[0].dtype)) return from_long_double(result, to_long_double(x[0]));
      return result == DType::kBool ? Scalar::of(x[0].bits != 0) : wrap(result, to_wide(x[0]));
    default:
      break;
  }
  if (result == DType::kF32) return Scalar::of(float_value<float>(op, x));
  if (result == DType::kF64) return Scalar::of(float_value<double>(op, x));
  return integer_value(op, result, x);
}

}  // namespace millrace::test
