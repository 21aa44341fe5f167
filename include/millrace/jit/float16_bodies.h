// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/body.h"

namespace millrace {

// Conversions between f16 or bf16 in memory (u16 bits) and register dtypes, as integer sequences for any builder. Where
// a processor has no instruction for f16, LLVM's own conversions would be library calls; the instruction vcvtneps2bf16
// flushes subnormals. These conversions round once, to nearest, ties to even, keep subnormals and infinities, and keep
// NaNs with their sign. An f16 that is a NaN becomes quiet, as by x86's instructions.

namespace float16 {

template <ScalarBuilder B>
typename B::Value u32(B& b, std::uint32_t bits) {
  return b.constant_int(DType::kU32, static_cast<std::int64_t>(bits));
}

template <ScalarBuilder B>
typename B::Value widen_f16(B& b, typename B::Value half) {
  auto x = b.convert(DType::kU32, half);
  auto sign = b.shl(b.bit_and(x, u32(b, 0x8000)), u32(b, 16));
  auto magnitude = b.bit_and(x, u32(b, 0x7fff));
  auto shifted = b.shl(magnitude, u32(b, 13));
  // Rebias the exponent by 112, and by another 112 if it is all ones.
  auto normal = b.add(shifted, u32(b, 112u << 23));
  auto quiet = b.select(b.le(magnitude, u32(b, 0x7c00)), u32(b, 0), u32(b, 1u << 22));
  auto special = b.bit_or(b.add(shifted, u32(b, 224u << 23)), quiet);
  auto count = b.convert(DType::kF32, b.bitcast(DType::kI32, magnitude));
  auto subnormal = b.bitcast(DType::kU32, b.mul(count, b.constant(DType::kF32, 0x1p-24)));
  auto bits =
      b.select(b.lt(magnitude, u32(b, 0x400)), subnormal, b.select(b.lt(magnitude, u32(b, 0x7c00)), normal, special));
  return b.bitcast(DType::kF32, b.bit_or(sign, bits));
}

template <ScalarBuilder B>
typename B::Value narrow_f16(B& b, typename B::Value f32) {
  auto x = b.bitcast(DType::kU32, f32);
  auto sign = b.bit_and(b.shr(x, u32(b, 16)), u32(b, 0x8000));
  auto magnitude = b.bit_and(x, u32(b, 0x7fffffff));
  auto odd = b.bit_and(b.shr(magnitude, u32(b, 13)), u32(b, 1));
  auto rounded = b.add(b.sub(magnitude, u32(b, 112u << 23)), b.add(odd, u32(b, 0xfff)));
  auto normal = b.shr(rounded, u32(b, 13));
  // Floats near 0.5 are 2^-24 apart, like f16 subnormals: the addition rounds, and the low bits count these steps.
  auto sum = b.add(b.bitcast(DType::kF32, magnitude), b.constant(DType::kF32, 0.5));
  auto subnormal = b.sub(b.bitcast(DType::kU32, sum), u32(b, 0x3f000000));
  auto nan = b.bit_or(b.bit_and(b.shr(magnitude, u32(b, 13)), u32(b, 0x3ff)), u32(b, 0x7e00));
  auto special = b.select(b.le(magnitude, u32(b, 0x7f800000)), u32(b, 0x7c00), nan);
  auto bits = b.select(b.lt(magnitude, u32(b, 0x38800000)), subnormal,
                       b.select(b.lt(magnitude, u32(b, 0x47800000)), normal, special));
  return b.convert(DType::kU16, b.bit_or(sign, bits));
}

template <ScalarBuilder B>
typename B::Value widen_bf16(B& b, typename B::Value bits) {
  return b.bitcast(DType::kF32, b.shl(b.convert(DType::kU32, bits), u32(b, 16)));
}

template <ScalarBuilder B>
typename B::Value narrow_bf16(B& b, typename B::Value f32) {
  auto x = b.bitcast(DType::kU32, f32);
  auto high = b.shr(x, u32(b, 16));
  auto rounded = b.shr(b.add(x, b.add(b.bit_and(high, u32(b, 1)), u32(b, 0x7fff))), u32(b, 16));
  auto nan = b.bit_or(high, u32(b, 0x40));
  return b.convert(DType::kU16, b.select(b.eq(f32, f32), rounded, nan));
}

/// f64 to f32, rounded to odd, which makes a later rounding to fewer bits correct.
/// Source: Boldo & Melquiond, "Emulation of FMA and correctly rounded sums", IEEE TC 57(4), 2008.
template <ScalarBuilder B>
typename B::Value round_to_odd(B& b, typename B::Value f64) {
  auto near = b.convert(DType::kF32, f64);
  auto back = b.convert(DType::kF64, near);
  auto bits = b.bitcast(DType::kU32, near);
  auto is_even = b.eq(b.bit_and(bits, u32(b, 1)), u32(b, 0));
  auto is_inexact = b.bit_or(b.lt(back, f64), b.lt(f64, back));  // false with NaN
  auto nearer_zero = b.lt(b.abs(f64), b.abs(back));
  auto odd = b.select(nearer_zero, b.sub(bits, u32(b, 1)), b.add(bits, u32(b, 1)));
  return b.bitcast(DType::kF32, b.select(b.bit_and(is_even, is_inexact), odd, bits));
}

/// Converts a 64-bit integer to f64. From 2^52 on, a sticky bit replaces the lowest 11 bits: bit 11 is set if any of
/// them is 1.
template <ScalarBuilder B>
typename B::Value sticky_f64(B& b, typename B::Value x) {
  auto constant = [&](std::int64_t value) { return b.constant_int(x.dtype, value); };
  auto lost = b.ne(b.bit_and(x, constant(2047)), constant(0));
  auto high = b.bit_or(b.shr(x, constant(11)), b.select(lost, constant(1), constant(0)));
  auto scaled = b.mul(b.convert(DType::kF64, high), b.constant(DType::kF64, 2048));
  auto direct = b.convert(DType::kF64, x);
  auto is_large = b.le(b.constant(DType::kF64, 0x1p52), b.abs(direct));
  return b.select(is_large, scaled, direct);
}

/// Converts any register to f32, so that this and the later narrowing to 16 bits together round only once.
template <ScalarBuilder B>
typename B::Value for_narrowing(B& b, typename B::Value x) {
  switch (x.dtype) {
    case DType::kF32:
      return x;
    case DType::kF64:
      return round_to_odd(b, x);
    case DType::kI64:
    case DType::kU64:
      return round_to_odd(b, sticky_f64(b, x));
    case DType::kI32:
    case DType::kU32:
      return round_to_odd(b, b.convert(DType::kF64, x));
    default:
      return b.convert(DType::kF32, x);  // exact
  }
}

}  // namespace float16

/// A builder with operations of its own for f16, which a generator turns into the best code of its target.
template <class B>
concept ConvertsF16 = requires(B& b, typename B::Value x) {
  b.widen_f16(x);
  b.narrow_f16(x);
};

/// Converts a loaded element to its body form: f16 and bf16 (u16 bits) to f32; others are unchanged.
template <ScalarBuilder B>
typename B::Value widen_stored(B& b, typename B::Value loaded, DType stored) {
  if (stored == DType::kF16) {
    if constexpr (ConvertsF16<B>) return b.widen_f16(loaded);
    return float16::widen_f16(b, loaded);
  }
  if (stored == DType::kBF16) return float16::widen_bf16(b, loaded);
  return loaded;
}

/// Converts a register to the u16 bits of f16 or bf16; for other dtypes it is unchanged.
template <ScalarBuilder B>
typename B::Value narrow_to_stored(B& b, typename B::Value value, DType stored) {
  if (stored == DType::kF16) {
    auto f32 = float16::for_narrowing(b, value);
    if constexpr (ConvertsF16<B>) return b.narrow_f16(f32);
    return float16::narrow_f16(b, f32);
  }
  if (stored == DType::kBF16) return float16::narrow_bf16(b, float16::for_narrowing(b, value));
  return value;
}

}  // namespace millrace
