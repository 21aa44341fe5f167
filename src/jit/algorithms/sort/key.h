// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "millrace/jit/machine_builder.h"

namespace millrace {

/// The dtype that holds a sort key: u64 for 64-bit dtypes, otherwise u32.
constexpr DType sort_key_dtype(DType stored) { return size_bytes(stored) == 8 ? DType::kU64 : DType::kU32; }

/// The number of bits of the key. A key occupies the lowest bits of its dtype; the bits above are 0.
constexpr unsigned sort_key_bits(DType stored) { return static_cast<unsigned>(8 * size_bytes(stored)); }

namespace detail {

constexpr DType unsigned_like(DType stored) {
  constexpr DType kUnsigned[] = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
  return kUnsigned[std::countr_zero(size_bytes(stored))];
}

/// The key of a float of `width` bits; `infinity` has the bits of +inf. Negative floats are complemented, so that keys
/// order like values. -0 gets the key of +0, and every NaN gets the maximum key.
inline MachineValue float_sort_key(MachineBuilder& b, MachineValue bits, unsigned width, std::uint64_t infinity) {
  const auto constant = [&](std::uint64_t value) {
    return b.constant_int(bits.dtype, static_cast<std::int64_t>(value));
  };
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  const std::uint64_t all = sign | (sign - 1);
  const MachineValue magnitude = b.bit_and(bits, constant(sign - 1));
  const MachineValue is_negative = b.ne(b.bit_and(bits, constant(sign)), constant(0));
  const MachineValue is_zero = b.eq(magnitude, constant(0));
  const MachineValue negative = b.bit_xor(bits, constant(all));
  const MachineValue positive = b.bit_or(bits, constant(sign));
  MachineValue key = b.select(is_negative, negative, positive);
  key = b.select(is_zero, constant(sign), key);
  return b.select(b.lt(constant(infinity), magnitude), constant(all), key);
}

}  // namespace detail

/// An unsigned key that orders elements like the sort: NaN is greatest, -0 equals +0, and the order is reversed if
/// `largest` is set. `loaded` is the element as a load returns it (u16 for 16-bit floats).
inline MachineValue sort_key(MachineBuilder& b, MachineValue loaded, DType stored, bool largest) {
  const DType key_dtype = sort_key_dtype(stored);
  const bool is_wide = key_dtype == DType::kU64;
  const unsigned width = sort_key_bits(stored);
  const auto constant = [&](std::uint64_t bits) { return b.constant_int(key_dtype, static_cast<std::int64_t>(bits)); };
  MachineValue key = loaded;
  if (stored == DType::kF16 || stored == DType::kBF16) {
    key = detail::float_sort_key(b, b.convert(key_dtype, loaded), 16, stored == DType::kF16 ? 0x7c00 : 0x7f80);
  } else if (is_float(stored)) {
    const std::uint64_t infinity = is_wide ? std::uint64_t{0x7ff0} << 48 : std::uint64_t{0x7f80} << 16;
    key = detail::float_sort_key(b, b.bitcast(key_dtype, loaded), is_wide ? 64 : 32, infinity);
  } else if (is_signed(stored)) {
    const MachineValue bits = b.convert(key_dtype, b.bitcast(detail::unsigned_like(stored), loaded));
    key = b.bit_xor(bits, constant(std::uint64_t{1} << (width - 1)));
  } else {
    key = b.convert(key_dtype, loaded);
  }
  return largest ? b.bit_xor(key, constant(UINT64_MAX >> (64 - width))) : key;
}

// The inverse of sort_key() with `largest` false.

/// Selects all bits of a key or only the highest.
enum class SortKeyBits : std::uint8_t { kAll, kHighest };
inline MachineValue sort_key_bit_pattern(MachineBuilder& b, DType stored, SortKeyBits which) {
  const std::uint64_t all = UINT64_MAX >> (64 - sort_key_bits(stored));
  const std::uint64_t bits = which == SortKeyBits::kAll ? all : all ^ (all >> 1);
  return b.constant_int(sort_key_dtype(stored), static_cast<std::int64_t>(bits));
}

/// Whether floats with different bits share this key. The zeros share one key, and the NaNs share another.
inline MachineValue is_key_of_several(MachineBuilder& b, MachineValue key, DType stored) {
  const MachineValue zeros = sort_key_bit_pattern(b, stored, SortKeyBits::kHighest);
  return b.bit_or(b.eq(key, zeros), b.eq(key, sort_key_bit_pattern(b, stored, SortKeyBits::kAll)));
}

/// The only element with this key, as a load returns it.
inline MachineValue element_of_key(MachineBuilder& b, MachineValue key, DType stored) {
  const MachineValue highest = sort_key_bit_pattern(b, stored, SortKeyBits::kHighest);
  if (stored == DType::kBool) return b.convert(DType::kBool, key);
  MachineValue bits = key;
  if (is_float(stored)) {
    const MachineValue is_positive = b.ne(b.bit_and(key, highest), b.constant_int(key.dtype, 0));
    const MachineValue all = sort_key_bit_pattern(b, stored, SortKeyBits::kAll);
    bits = b.bit_xor(key, b.select(is_positive, highest, all));
  } else if (is_signed(stored)) {
    bits = b.bit_xor(key, highest);
  }
  bits = b.convert(detail::unsigned_like(stored), bits);
  return size_bytes(stored) == 2 && is_float(stored) ? bits : b.bitcast(stored, bits);
}

}  // namespace millrace
