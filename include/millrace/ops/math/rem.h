// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/float_parts.h"

namespace millrace::math {
namespace detail {

// Both remainders below divide in chunks of `kBits` quotient bits. Each step computes r * 2^kBits - q * m, where q is
// an integer near the quotient: |r| stays near m / 2, and the next step corrects the error of q. These products and
// sums are exact, so the result is the same with mul_add fused and unfused.

/// The integer nearest to x * y, or an integer next to that. Precondition: |x * y| is below 2^51, or not finite.
template <class B, class V>
V rounded_product(B& b, V x, V y) {
  const V rounder = b.constant(DType::kF64, format_of(DType::kF64).rounder);
  return b.sub(b.mul_add(x, y, rounder), rounder);
}

/// f32 operands in f64: a quotient of 29 bits times a divisor of 24 is exact. Quotients are below 2^277.
template <class B, class V>
V rem_in_f64(B& b, V x, V y) {
  constexpr int kSteps = 10;
  const V dividend = b.convert(DType::kF64, b.abs(x)), m = b.convert(DType::kF64, b.abs(y));
  const V up = b.constant(DType::kF64, 0x1p29);
  const V minus_inverse = b.div(b.constant(DType::kF64, -1), m), minus_inverse_up = b.mul(minus_inverse, up);
  V r = b.mul(dividend, b.constant(DType::kF64, 0x1p-261));  // 2^-(29 * (kSteps - 1))
  r = b.mul_add(rounded_product(b, r, minus_inverse), m, r);
  for (int step = 1; step < kSteps; ++step) {
    r = b.mul_add(rounded_product(b, r, minus_inverse_up), m, b.mul(r, up));
  }
  r = b.select(b.lt(r, b.constant_like(r, 0)), b.add(r, m), r);
  return b.convert(DType::kF32, r);
}

/// A positive finite f64 as m * 2^k with 2^52 <= m < 2^53, an integer. Other operands give an arbitrary finite m.
template <class V>
struct IntegerParts {
  V m;
  V k;  // i64
};

template <class B, class V>
IntegerParts<V> split_integer(B& b, V x) {
  const auto integer = [&](std::int64_t value) { return b.constant_int(DType::kI64, value); };
  const V is_subnormal = b.lt(x, b.constant_like(x, 0x1p-1022));
  const V bits = b.bitcast(DType::kI64, b.select(is_subnormal, b.mul(x, b.constant_like(x, 0x1p54)), x));
  const V fraction = b.bit_and(bits, integer((std::int64_t{1} << 52) - 1));
  const V offset = b.select(is_subnormal, integer(1075 + 54), integer(1075));
  return {b.bitcast(DType::kF64, b.bit_or(fraction, integer(std::int64_t{1075} << 52))),
          b.sub(b.shr(bits, integer(52)), offset)};
}

/// |x| rem |y| where |x| >= |y| > 0 and both are finite. Quotients are below 2^2098. A divisor of 53 bits is split in
/// two, so that each part times a quotient of 26 bits is exact.
template <class B, class V>
V rem_of_integer_parts(B& b, V x, V y) {
  constexpr int kBits = 26, kSteps = 40;
  const auto f64 = [&](double value) { return b.constant(DType::kF64, value); };
  const IntegerParts<V> dividend = split_integer(b, b.abs(x)), divisor = split_integer(b, b.abs(y));
  const V m = divisor.m;
  const V m_high = b.sub(b.add(m, f64(0x1.8p78)), f64(0x1.8p78));  // a multiple of 2^26
  const V m_low = b.sub(m, m_high);
  const V up = f64(0x1p26);
  const V minus_inverse = b.div(f64(-1), m), minus_inverse_up = b.mul(minus_inverse, up);
  const auto reduce = [&](V r, V factor, V minus_inverse_scaled) {
    const V minus_q = rounded_product(b, r, minus_inverse_scaled);
    return b.mul_add(minus_q, m_low, b.mul_add(minus_q, m_high, b.mul(r, factor)));
  };
  const auto integer = [&](V value) { return nearest_integer(b, value, 1).integer; };
  // The exponents' difference is kBits * count + rest, with count up to 2 * kSteps.
  const V difference = small_integer_to_float(b, b.sub(dividend.k, divisor.k), DType::kF64);
  const V count = b.trunc(b.mul(b.add(difference, f64(0.5)), f64(1.0 / kBits)));
  const V rest = power_of_two(b, integer(b.mul_add(count, f64(-kBits), difference)), m);
  V r = reduce(dividend.m, rest, b.mul(minus_inverse, rest));
  // Each loop runs kSteps steps. For each surplus step, r is first scaled down by 2^kBits; the surplus steps find a
  // quotient of 0 and only undo the scaling, so r is an integer again when it comes near m. There are two loops,
  // because an r scaled for all 80 steps at once would be below the smallest f64.
  const V first = b.select(b.lt(count, f64(kSteps)), count, f64(kSteps));
  for (const V& part : {first, b.sub(count, first)}) {
    r = scale(b, r, integer(b.mul(b.sub(part, f64(kSteps)), f64(kBits))));
    for (int step = 0; step < kSteps; ++step) r = reduce(r, up, minus_inverse_up);
  }
  r = b.select(b.lt(r, f64(0)), b.add(r, m), r);
  return scale(b, r, divisor.k);
}

}  // namespace detail

/// x - trunc(x / y) * y, like fmod in C and NumPy, and % on integers. The result has the sign of x, even if it is zero.
/// Floats: exact; x rem inf is x; NaN for an infinite x, for y = 0 and for NaN. Integers: x rem 0 is 0. f32 takes about
/// 60 operations in f64, and f64 about 450, whatever the operands, because a body has no branches.
template <class B>
typename B::Value rem(B& b, typename B::Value x, typename B::Value y) {
  using V = typename B::Value;
  if (!is_float(x.dtype)) return b.rem(x, y);
  const V zero = b.constant_like(x, 0), infinity = b.constant_like(x, detail::kInfinity);
  const V rest = x.dtype == DType::kF64 ? detail::rem_of_integer_parts(b, x, y) : detail::rem_in_f64(b, x, y);
  const V is_defined = b.bit_and(b.lt(b.abs(x), infinity), b.lt(zero, b.abs(y)));
  const V defined = b.select(is_defined, detail::copy_sign(b, b.abs(rest), x), b.constant_like(x, detail::kNaN));
  return b.select(b.lt(b.abs(x), b.abs(y)), x, defined);
}

}  // namespace millrace::math
