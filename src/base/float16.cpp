// SPDX-License-Identifier: Apache-2.0
// Converts 16-bit floats with integer arithmetic only, because the results of conversion instructions and library calls
// differ between targets: instructions for bf16 flush subnormals, for example.
#include "millrace/base/float16.h"

#include <bit>

namespace millrace {
namespace {

struct FloatFormat {
  int fraction_bits;
  int exponent_bits;
  constexpr std::uint64_t exponent_mask() const { return (std::uint64_t{1} << exponent_bits) - 1; }
  constexpr std::uint64_t fraction_mask() const { return (std::uint64_t{1} << fraction_bits) - 1; }
  constexpr std::uint64_t infinity() const { return exponent_mask() << fraction_bits; }
  constexpr int bias() const { return static_cast<int>(exponent_mask() >> 1); }
};

constexpr FloatFormat kF16{10, 5};
constexpr FloatFormat kBF16{7, 8};
constexpr FloatFormat kF32{23, 8};
constexpr FloatFormat kF64{52, 11};

/// Divides by 2^shift, 1 <= shift <= 63, rounding to nearest, ties to even.
constexpr std::uint64_t round_shift(std::uint64_t value, int shift) {
  const std::uint64_t quotient = value >> shift;
  const std::uint64_t rest = value & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1) != 0) ? 1 : 0);
}

template <FloatFormat kFrom, FloatFormat kTo>
constexpr std::uint16_t narrow(std::uint64_t bits) {
  constexpr int kDropped = kFrom.fraction_bits - kTo.fraction_bits;
  const std::uint64_t sign = bits >> (kFrom.fraction_bits + kFrom.exponent_bits)
                                         << (kTo.fraction_bits + kTo.exponent_bits);
  const std::uint64_t exponent = bits >> kFrom.fraction_bits & kFrom.exponent_mask();
  const std::uint64_t fraction = bits & kFrom.fraction_mask();
  std::uint64_t magnitude = 0;
  if (exponent == kFrom.exponent_mask()) {
    // A NaN becomes quiet and keeps the upper part of its payload, as the processors' own conversions do.
    const std::uint64_t quiet = std::uint64_t{1} << (kTo.fraction_bits - 1);
    magnitude = kTo.infinity() | (fraction == 0 ? 0 : quiet | fraction >> kDropped);
  } else {
    const std::uint64_t hidden = exponent == 0 ? 0 : std::uint64_t{1} << kFrom.fraction_bits;
    const int target = static_cast<int>(exponent == 0 ? 1 : exponent) - kFrom.bias() + kTo.bias();
    const int below_normal = target < 1 ? 1 - target : 0;
    // A shift of 63 already gives less than half the smallest subnormal, so larger shifts change nothing.
    const int shift = kDropped + below_normal < 63 ? kDropped + below_normal : 63;
    magnitude = round_shift(hidden | fraction, shift);
    // The hidden bit adds the missing 1 to the exponent. A carry out of the fraction adds another; cap the result at
    // infinity.
    if (target > 1) magnitude += static_cast<std::uint64_t>(target - 1) << kTo.fraction_bits;
    if (magnitude > kTo.infinity()) magnitude = kTo.infinity();
  }
  return static_cast<std::uint16_t>(sign | magnitude);
}

constexpr std::uint32_t widen_half(std::uint32_t bits) {
  constexpr int kAdded = kF32.fraction_bits - kF16.fraction_bits;
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(kF32.bias() - kF16.bias()) << kF32.fraction_bits;
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude > kF16.infinity()) return sign | kF32.infinity() | 0x00400000u | magnitude << kAdded;
  if (magnitude == kF16.infinity()) return sign | kF32.infinity();
  if (magnitude >= 0x0400u) return sign | ((magnitude << kAdded) + kRebias);
  if (magnitude == 0) return sign;
  // A subnormal is magnitude * 2^-24: its leading bit becomes the hidden bit.
  const int leading = std::bit_width(magnitude) - 1;
  const auto exponent = static_cast<std::uint32_t>(leading - 24 + kF32.bias());
  const std::uint32_t fraction = (magnitude << (kF32.fraction_bits - leading)) & kF32.fraction_mask();
  return sign | exponent << kF32.fraction_bits | fraction;
}

}  // namespace

Half::Half(float value) : bits(narrow<kF32, kF16>(std::bit_cast<std::uint32_t>(value))) {}
Half::Half(double value) : bits(narrow<kF64, kF16>(std::bit_cast<std::uint64_t>(value))) {}
Half::operator float() const { return std::bit_cast<float>(widen_half(bits)); }

BFloat16::BFloat16(float value) : bits(narrow<kF32, kBF16>(std::bit_cast<std::uint32_t>(value))) {}
BFloat16::BFloat16(double value) : bits(narrow<kF64, kBF16>(std::bit_cast<std::uint64_t>(value))) {}
BFloat16::operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

}  // namespace millrace
