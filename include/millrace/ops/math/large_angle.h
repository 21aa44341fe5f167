// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "millrace/ops/math/float_parts.h"

namespace millrace::math::detail {

/// x = quarters * pi / 2 + high + low, with |high| at most slightly above pi / 4, all in f64.
template <class V>
struct ReducedAngle {
  V quarters;  // i64
  V high;
  V low;
};

inline constexpr std::uint64_t kLow32 = 0xffffffff;

/// 27 zero bits, then the bits of 2 / pi, most significant first.
inline constexpr std::uint64_t kTwoOverPiWords[] = {
    0x000000145f306dc9, 0xc882a53f84eafa3e, 0xa69bb81b6c52b327, 0x8872083fca2c757b, 0xd778ac36e48dc748,
    0x49ba5c00c925dd41, 0x3a32439fc3bd6396, 0x2534e7dd1046bea5, 0xd768909d338e04d6, 0x8befc827323ac730,
    0x6a673e93908bf177, 0xbf250763ff12fffb, 0xc0b301fde5e2316b, 0x414da3eda6cfd9e4, 0xf96136e9e8c7ecd3,
    0xcbfd45aea4f758fd, 0x7cbe2f67a0e73ef1, 0x4a525d4d7f6bf623, 0xf1aba10ac06608df};

template <class B>
typename B::Value u64(B& b, std::uint64_t value) {
  return b.constant_int(DType::kU64, static_cast<std::int64_t>(value));
}

/// The 192 bits of kTwoOverPiWords from bit `begin` on, begin < 1024. Bodies have no tables, so the words are selected
/// by one bit of `begin` at a time.
template <class B, class V>
std::array<V, 3> two_over_pi_bits(B& b, V begin) {
  std::array<V, std::size(kTwoOverPiWords)> words;
  std::size_t count = words.size();
  for (std::size_t i = 0; i < count; ++i) words[i] = u64(b, kTwoOverPiWords[i]);
  for (std::size_t step = 8; step > 0; step /= 2) {
    const V skips = b.ne(b.bit_and(begin, u64(b, 64 * step)), u64(b, 0));
    count -= step;
    for (std::size_t i = 0; i < count; ++i) words[i] = b.select(skips, words[i + step], words[i]);
  }
  const V left = b.bit_and(begin, u64(b, 63));
  const V right = b.bit_xor(left, u64(b, 63));  // 63 - left; a shift by 64 would be masked to 0
  std::array<V, 3> bits;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    bits[i] = b.bit_or(b.shl(words[i], left), b.shr(b.shr(words[i + 1], u64(b, 1)), right));
  }
  return bits;
}

/// `words` (one number, most significant first) times an integer below 2^53. Returns the upper 128 of the product's
/// lower 192 bits, as four 32-bit digits, most significant first.
template <class B, class V>
std::array<V, 4> multiply_digits(B& b, const std::array<V, 3>& words, V integer) {
  std::array<V, 6> digits;
  for (std::size_t i = 0; i < words.size(); ++i) {
    digits[2 * i] = b.shr(words[i], u64(b, 32));
    digits[2 * i + 1] = b.bit_and(words[i], u64(b, kLow32));
  }
  const V low = b.bit_and(integer, u64(b, kLow32)), high = b.shr(integer, u64(b, 32));
  std::array<V, 4> product;
  V carry = b.shr(b.mul(low, digits[5]), u64(b, 32));
  for (std::size_t i = 5; i-- > 0;) {
    // Both sums stay below 2^64: the carry is below 2^32 + 2^22.
    const V first = b.add(b.mul(low, digits[i]), carry);
    const V second = b.add(b.mul(high, digits[i + 1]), b.bit_and(first, u64(b, kLow32)));
    carry = b.add(b.shr(first, u64(b, 32)), b.shr(second, u64(b, 32)));
    if (i < product.size()) product[i] = b.bit_and(second, u64(b, kLow32));
  }
  return product;
}

/// digit * 2^-places, exact, for a digit below 2^32 and places from 0 to 96.
template <class B, class V>
V digit_as_fraction(B& b, V digit, int places) {
  // A float in [2^52 * 2^-places, 2^53 * 2^-places) has 2^-places as its last bit.
  const double base = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + 52 - places) << 52);
  const V bits = b.bit_or(digit, u64(b, std::bit_cast<std::uint64_t>(base)));
  return b.sub(b.bitcast(DType::kF64, bits), b.constant(DType::kF64, base));
}

/// high + low, and its rounding error. Precondition: |high| >= |low|, or high is 0.
/// Source: Dekker, A floating-point technique for extending the available precision, Numer. Math. 18, 1971.
template <class V>
struct ExactSum {
  V sum;
  V error;
};
template <class B, class V>
ExactSum<V> add_exactly(B& b, V high, V low) {
  const V sum = b.add(high, low);
  return {sum, b.sub(low, b.sub(sum, high))};
}

/// (high + low) * 2^-30 * pi / 2. Precondition: |low| is at most one ulp of high.
template <class B, class V>
ReducedAngle<V> scale_to_angle(B& b, V quarters, V high, V low) {
  constexpr double kHalfPi = 0x1.921fb54442d18p-30, kFirst27Bits = 0x1.921fb54p-30, kRest = 0x1.10b4611a62633p-60;
  // `head` has 26 bits, so its product with 27 bits is exact.
  const V head = b.bitcast(DType::kF64, b.bit_and(b.bitcast(DType::kU64, high), u64(b, ~std::uint64_t{0} << 27)));
  const V tail = b.add(b.sub(high, head), low);
  const V rest = b.add(b.mul(head, b.constant_like(high, kRest)), b.mul(tail, b.constant_like(high, kHalfPi)));
  const auto [sum, error] = add_exactly(b, b.mul(head, b.constant_like(high, kFirst27Bits)), rest);
  return {quarters, sum, error};
}

/// A finite f64 of at least 2 is m * 2^e with an integer m. This multiplies m by the bits of 2 / pi from 2^(1 - e)
/// down; the bits above only add multiples of four quarters. 192 bits leave 137 bits of fraction. No f64 is closer than
/// 2^-62 quarters to an integer number of quarters, so 75 bits of the result are correct. For other x the result is
/// arbitrary.
/// Source: Payne & Hanek, Radian reduction for trigonometric functions, SIGNUM Newsletter 18, 1983; Muller et al.,
/// Handbook of Floating-Point Arithmetic, 11.3 (the nearest f64).
template <class B, class V>
ReducedAngle<V> reduce_large_angle(B& b, V x) {
  constexpr std::uint64_t kImplicitBit = std::uint64_t{1} << 52;
  const V bits = b.bitcast(DType::kU64, x);
  const V begin = b.sub(b.shr(bits, u64(b, 52)), u64(b, 1050));  // e + 25
  const V integer = b.bit_or(b.bit_and(bits, u64(b, kImplicitBit - 1)), u64(b, kImplicitBit));
  const std::array<V, 4> digits = multiply_digits(b, two_over_pi_bits(b, begin), integer);
  // The first digit has 2 bits of whole quarters and 30 bits of fraction, which is moved to [-1/2, 1/2).
  const V quarters = b.shr(b.add(digits[0], u64(b, 1 << 29)), u64(b, 30));
  const V first = b.bitcast(DType::kI64, b.sub(digits[0], b.shl(quarters, u64(b, 30))));
  const auto upper = add_exactly(b, small_integer_to_float(b, first, DType::kF64), digit_as_fraction(b, digits[1], 32));
  const auto lower = add_exactly(b, upper.sum, digit_as_fraction(b, digits[2], 64));
  const V low = b.add(b.add(upper.error, lower.error), digit_as_fraction(b, digits[3], 96));
  return scale_to_angle(b, b.bitcast(DType::kI64, quarters), lower.sum, low);
}

}  // namespace millrace::math::detail
