// SPDX-License-Identifier: Apache-2.0
// Values whose bits may be undefined, and integer arithmetic on them. A formula is written once for plain words and for
// known ones: it computes both the result and which of its bits are undefined.
// Source: Seward and Nethercote, "Using Valgrind to detect undefined value errors with bit-precision", USENIX 2005.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace millrace::isa {

/// A lane's value and which of its bits are undefined. Changing an undefined bit never changes a result's defined bits.
template <class Bits>
struct Known {
  Bits value = 0;
  Bits undefined = 0;

  constexpr Known() = default;
  constexpr Known(Bits its_value, Bits its_undefined = 0) : value(its_value), undefined(its_undefined) {}

  constexpr Bits lowest() const { return value & ~undefined; }
  constexpr Bits highest() const { return value | undefined; }

  // A defined 0 in an `and`, or a defined 1 in an `or`, hides an undefined bit of the other operand.
  friend constexpr Known operator&(Known a, Known b) {
    return {a.value & b.value, (a.undefined | b.undefined) & a.highest() & b.highest()};
  }
  friend constexpr Known operator|(Known a, Known b) {
    return {a.value | b.value, (a.undefined | b.undefined) & ~(a.lowest() | b.lowest())};
  }
  friend constexpr Known operator^(Known a, Known b) { return {a.value ^ b.value, a.undefined | b.undefined}; }
  friend constexpr Known operator~(Known a) { return {~a.value, a.undefined}; }
  // An undefined bit makes itself and the bits above it undefined.
  friend constexpr Known operator+(Known a, Known b) { return {a.value + b.value, upwards(a.undefined | b.undefined)}; }
  friend constexpr Known operator-(Known a, Known b) { return {a.value - b.value, upwards(a.undefined | b.undefined)}; }
  friend constexpr Known operator*(Known a, Known b) { return {a.value * b.value, upwards(a.undefined | b.undefined)}; }
  // The amount is less than the width.
  friend constexpr Known operator<<(Known a, Known amount) {
    if (amount.undefined != 0) return unknown();
    return {a.value << amount.value, a.undefined << amount.value};
  }
  friend constexpr Known operator>>(Known a, Known amount) {
    if (amount.undefined != 0) return unknown();
    return {a.value >> amount.value, a.undefined >> amount.value};
  }

  static constexpr Bits upwards(Bits undefined) { return undefined | (Bits{0} - undefined); }
  static constexpr Known unknown() { return {0, ~Bits{0}}; }
};

template <class T>
concept Word = std::same_as<T, std::uint32_t> || std::same_as<T, std::uint64_t>;

/// Shifts in copies of the sign.
template <Word W>
constexpr W shift_signed(W a, W amount) {
  return static_cast<W>(static_cast<std::make_signed_t<W>>(a) >> amount);
}
template <Word W>
constexpr Known<W> shift_signed(Known<W> a, Known<W> amount) {
  if (amount.undefined != 0) return Known<W>::unknown();
  return {shift_signed(a.value, amount.value), shift_signed(a.undefined, amount.value)};
}

/// The lowest `kWidth` bits, as a signed number.
template <std::uint32_t kWidth, Word W>
constexpr W sign_extend(W a) {
  constexpr W kShift = std::numeric_limits<W>::digits - kWidth;
  return shift_signed<W>(a << kShift, kShift);
}
template <std::uint32_t kWidth, Word W>
constexpr Known<W> sign_extend(Known<W> a) {
  return {sign_extend<kWidth>(a.value), sign_extend<kWidth>(a.undefined)};
}

constexpr std::uint64_t widen(std::uint32_t a) { return a; }
constexpr Known<std::uint64_t> widen(Known<std::uint32_t> a) { return {a.value, a.undefined}; }
constexpr std::uint64_t widen_signed(std::uint32_t a) { return sign_extend<32>(std::uint64_t{a}); }
constexpr Known<std::uint64_t> widen_signed(Known<std::uint32_t> a) { return sign_extend<32>(widen(a)); }
/// The lower half.
constexpr std::uint32_t narrow(std::uint64_t a) { return static_cast<std::uint32_t>(a); }
constexpr Known<std::uint32_t> narrow(Known<std::uint64_t> a) { return {narrow(a.value), narrow(a.undefined)}; }

/// Bit by bit: a where the mask is set, otherwise b.
template <Word W>
constexpr W choose(W mask, W a, W b) {
  return (mask & a) | (~mask & b);
}
template <Word W>
constexpr Known<W> choose(Known<W> mask, Known<W> a, Known<W> b) {
  const W either = (a.value ^ b.value) | a.undefined | b.undefined;
  return {choose(mask.value, a.value, b.value),
          choose(mask.undefined, either, choose(mask.value, a.undefined, b.undefined))};
}

template <Word W>
constexpr W lesser(W a, W b) {
  return std::min(a, b);
}
template <Word W>
constexpr W greater(W a, W b) {
  return std::max(a, b);
}
/// The smaller word. If undefined bits cannot change which word is smaller, the result has that word's undefined bits.
template <Word W>
constexpr Known<W> lesser(Known<W> a, Known<W> b) {
  if (a.highest() <= b.lowest()) return a;
  if (b.highest() <= a.lowest()) return b;
  return {lesser(a.value, b.value), (a.value ^ b.value) | a.undefined | b.undefined};
}
template <Word W>
constexpr Known<W> greater(Known<W> a, Known<W> b) {
  return ~lesser(~a, ~b);
}

template <class W>
constexpr W flip_sign(W a) {
  if constexpr (Word<W>) {
    return a ^ (W{1} << (std::numeric_limits<W>::digits - 1));
  } else {
    return {flip_sign(a.value), a.undefined};
  }
}
template <class W>
constexpr W lesser_signed(W a, W b) {
  return flip_sign(lesser(flip_sign(a), flip_sign(b)));
}
template <class W>
constexpr W greater_signed(W a, W b) {
  return flip_sign(greater(flip_sign(a), flip_sign(b)));
}

/// The number of bits that are set.
template <Word W>
constexpr W count_bits(W a) {
  return static_cast<W>(std::popcount(a));
}
template <Word W>
constexpr Known<W> count_bits(Known<W> a) {
  if (a.undefined != 0) return Known<W>::unknown();
  return count_bits(a.value);
}

}  // namespace millrace::isa
