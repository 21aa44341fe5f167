// SPDX-License-Identifier: Apache-2.0
// The instructions that make a correctly rounded quotient from an approximate reciprocal: v_div_scale, v_div_fmas and
// v_div_fixup.
// Source: RDNA 3 ISA, 16.12 "V_DIV_SCALE_F32", "V_DIV_FMAS_F32" and "V_DIV_FIXUP_F32".
#pragma once

#include "isa/instructions/float_math.h"

namespace millrace::isa {

template <class T>
struct Division {
  static constexpr bool kIsSingle = sizeof(T) == 4;
  /// The exponent of the factor that keeps intermediate results from overflow and underflow.
  static constexpr int kScale = kIsSingle ? 64 : 128;
  static constexpr int kNearOverflow = kIsSingle ? 96 : 768;   // quotients of this exponent or a greater one
  static constexpr int kTinyNumerator = kIsSingle ? 23 : 53;   // exponent fields up to this one
  static constexpr int kUnderflow = kIsSingle ? -150 : -1075;  // below: less than half the smallest subnormal
};

/// Whether the exact quotient a / b is in the range of subnormals. Both are finite and not zero.
template <class T>
bool has_subnormal_quotient(T a, T b) {
  const int fields = exponent_field(a) - exponent_field(b);
  const bool are_normal = exponent_field(a) != 0 && exponent_field(b) != 0;
  if (are_normal && fields >= std::numeric_limits<T>::min_exponent) return false;
  int exponent_a = 0, exponent_b = 0;
  const T mantissa_a = std::fabs(std::frexp(a, &exponent_a)), mantissa_b = std::fabs(std::frexp(b, &exponent_b));
  return exponent_a - exponent_b - (mantissa_a < mantissa_b ? 1 : 0) < std::numeric_limits<T>::min_exponent - 1;
}

template <class T>
struct Scaled {
  T value;
  bool needs_scaling_back;  // this lane's bit in the mask
};

/// The value (the denominator or the numerator), scaled for division. If the denominator's reciprocal and the quotient
/// are both subnormal, the manual scales the denominator up, which would overflow. Here it is scaled down, which gives
/// the quotient that v_div_fmas expects. The manual does not say how the quotient is rounded for this decision; here
/// the exact quotient decides.
template <class T>
Scaled<T> div_scale(T value, T denominator, T numerator) {
  using D = Division<T>;
  if (numerator == 0 || denominator == 0) return {default_nan<T>(), false};
  const bool is_denominator = value == denominator, is_numerator = value == numerator;
  if (exponent_field(numerator) - exponent_field(denominator) >= D::kNearOverflow) {
    return {is_denominator ? scale(value, D::kScale) : value, true};
  }
  if (is_subnormal(denominator)) return {scale(value, D::kScale), false};
  const auto is_finite = [](T x) { return magnitude_bits(x) < FloatBits<T>::kInfinity; };
  const bool has_subnormal_reciprocal = is_finite(denominator) && has_subnormal_quotient(T{1}, denominator);
  const bool is_subnormal_result =
      is_finite(denominator) && is_finite(numerator) && has_subnormal_quotient(numerator, denominator);
  if (has_subnormal_reciprocal && is_subnormal_result) {
    return {is_denominator ? scale(value, -D::kScale) : value, true};
  }
  if (has_subnormal_reciprocal) return {scale(value, -D::kScale), false};
  if (is_subnormal_result) return {is_numerator ? scale(value, D::kScale) : value, true};
  return {exponent_field(numerator) <= D::kTinyNumerator ? scale(value, D::kScale) : value, false};
}

/// The exponent of the factor by which v_div_fmas scales back: kScale or -kScale. (The manual gives only one factor.)
/// The quotient shows which factor is right: v_div_scale scales just one operand only if the quotient is near overflow
/// or subnormal.
template <class T>
int scale_back(T quotient) {
  return exponent_field(quotient) > FloatBits<T>::kBias ? Division<T>::kScale : -Division<T>::kScale;
}

/// a * b + c, scaled back and only then rounded: otherwise, division would round subnormals twice.
template <class T>
T div_fmas(T a, T b, T c, bool needs_scaling_back, bool is_to_nearest) {
  const T value = fused(a, b, c);
  if (!needs_scaling_back) return value;
  const int exponent = scale_back(c);
  const T result = scale(value, exponent);
  // Rounding twice differs from rounding once only if the first rounding made a tie from a value that is not a tie.
  const T beyond = value - scale(result, -exponent);
  const T half_unit = scale(std::numeric_limits<T>::denorm_min(), -exponent - 1);
  // In the other rounding modes, rounding twice equals rounding once.
  if (!is_to_nearest || exponent > 0 || std::fabs(beyond) != half_unit) return result;
  const T cut_off = fused(a, b, c - value);
  if (cut_off == 0 || has_sign(cut_off) != has_sign(beyond)) return result;
  const T unit = std::numeric_limits<T>::denorm_min();
  return result + (has_sign(beyond) ? -unit : unit);
}
/// Handles the special cases of a quotient. If an earlier step overflowed, `quotient` is NaN, and the result is an
/// infinity: the manual's own condition for overflow cannot hold at that point.
template <class T>
T div_fixup(T quotient, T denominator, T numerator) {
  const bool sign = has_sign(denominator) != has_sign(numerator);
  if (is_nan(numerator)) return quiet(numerator);
  if (is_nan(denominator)) return quiet(denominator);
  const bool is_invalid = (denominator == 0 && numerator == 0) || (is_infinite(denominator) && is_infinite(numerator));
  if (is_invalid) return with_sign(default_nan<T>(), true);
  if (denominator == 0 || is_infinite(numerator)) return with_sign(std::numeric_limits<T>::infinity(), sign);
  if (is_infinite(denominator) || numerator == 0) return with_sign(T{0}, sign);
  if (exponent_field(numerator) - exponent_field(denominator) < Division<T>::kUnderflow) return with_sign(T{0}, sign);
  return with_sign(is_nan(quotient) ? std::numeric_limits<T>::infinity() : quotient, sign);
}

/// v_div_scale's handler, with two results.
template <class T>
void run_div_scale(Wave& wave, const Instruction& instruction) {
  Lanes<BitsOf<T>> values, denominators, numerators, results;
  fetch(wave, instruction, 0, values);
  fetch(wave, instruction, 1, denominators);
  fetch(wave, instruction, 2, numerators);
  std::uint64_t mask = 0;
  const auto source = [&](const Lanes<BitsOf<T>>& lanes, std::uint32_t lane) {
    const T value = from_bits<T>(lanes.values[lane]);
    const bool is_flushed = sizeof(T) == 4 ? wave.mode.flushes_f32_inputs : wave.mode.flushes_f16_f64_inputs;
    return is_flushed ? without_subnormal(value) : value;
  };
  for (std::uint32_t lane = 0; lane < wave.machine.num_lanes; ++lane) {
    const Scaled<T> scaled = div_scale(source(values, lane), source(denominators, lane), source(numerators, lane));
    results.values[lane] = to_bits(scaled.value);
    mask |= std::uint64_t{scaled.needs_scaling_back} << lane;
  }
  const Operand& second = instruction.result(1);
  const bool is_undefined = wave.may_be_undefined(instruction.source(0)) ||
                            wave.may_be_undefined(instruction.source(1)) ||
                            wave.may_be_undefined(instruction.source(2));
  if (!is_undefined) {
    commit(wave, instruction, results, nullptr);
    return commit_mask(wave, second, mask, 0);
  }
  Lanes<BitsOf<T>> undefined, one;
  fetch_undefined(wave, instruction, 0, undefined);
  std::uint64_t undefined_mask = 0;
  for (std::size_t i = 1; i < 3; ++i) {
    fetch_undefined(wave, instruction, i, one);
    for (std::uint32_t lane = 0; lane < wave.machine.num_lanes; ++lane) undefined.values[lane] |= one.values[lane];
  }
  for (std::uint32_t lane = 0; lane < wave.machine.num_lanes; ++lane) {
    if (undefined.values[lane] == 0) continue;
    undefined.values[lane] = ~BitsOf<T>{0};
    undefined_mask |= std::uint64_t{1} << lane;
  }
  commit(wave, instruction, results, &undefined);
  commit_mask(wave, second, mask, undefined_mask);
}

}  // namespace millrace::isa
