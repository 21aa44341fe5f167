// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "millrace/base/dtype.h"

namespace millrace::reference {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

/// 16-bit floats by scaling and std::nearbyint, unlike the library's integer sequences.
double decode_float16(DType dtype, std::uint16_t bits);
std::uint16_t encode_float16(DType dtype, long double value);

/// Calls `f.template operator()<W>()` with the type that the oracle computes a dtype in.
template <class F>
decltype(auto) visit_wide(DType dtype, F&& f) {
  if (dtype == DType::kF64) return f.template operator()<long double>();
  if (is_float(dtype)) return f.template operator()<double>();
  return f.template operator()<Int128>();
}

template <class W>
inline constexpr bool kIsInteger = std::is_same_v<W, Int128>;

/// One stored element as a W. Precondition: W is the dtype's wide type, or a float type for any dtype.
template <class W>
W read_element(DType dtype, const std::byte* element) {
  return visit_dtype(dtype, [&]<class T>() -> W {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      std::uint16_t bits;
      std::memcpy(&bits, element, sizeof(bits));
      return static_cast<W>(decode_float16(dtype, bits));
    } else {
      T value;
      std::memcpy(&value, element, sizeof(value));
      return static_cast<W>(value);
    }
  });
}

/// Stores a W rounded to nearest (floats) or modulo the dtype's range (integers). Precondition: as read_element; no
/// float to an integer dtype.
template <class W>
void write_element(DType dtype, W value, std::byte* element) {
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      const std::uint16_t bits = encode_float16(dtype, static_cast<long double>(value));
      std::memcpy(element, &bits, sizeof(bits));
    } else if constexpr (std::is_same_v<T, bool>) {
      const bool stored = value != 0;
      std::memcpy(element, &stored, 1);
    } else if constexpr (std::is_integral_v<T> && kIsInteger<W>) {
      const T stored = static_cast<T>(static_cast<std::uint64_t>(value));
      std::memcpy(element, &stored, sizeof(stored));
    } else {
      const T stored = static_cast<T>(value);
      std::memcpy(element, &stored, sizeof(stored));
    }
  });
}

/// An integer modulo the dtype's range; a float as it is.
template <class W>
W wrap(DType dtype, W value) {
  if constexpr (kIsInteger<W>) {
    std::byte element[8] = {};
    write_element(dtype, value, element);
    return read_element<W>(dtype, element);
  } else {
    return value;
  }
}

/// The product; of integers modulo 2^128, so that two of 64 bits give the right low bits.
template <class W>
W product(W a, W b) {
  if constexpr (kIsInteger<W>) {
    return static_cast<Int128>(static_cast<UInt128>(a) * static_cast<UInt128>(b));
  } else {
    return a * b;
  }
}

/// The lowest (highest) value: -inf (+inf) of floats.
template <class W>
W lowest_value(DType dtype) {
  if constexpr (kIsInteger<W>) {
    if (!is_signed(dtype)) return 0;
    return -(Int128{1} << (size_bytes(dtype) * 8 - 1));
  } else {
    return -std::numeric_limits<W>::infinity();
  }
}

template <class W>
W highest_value(DType dtype) {
  if constexpr (kIsInteger<W>) {
    if (dtype == DType::kBool) return 1;
    return (Int128{1} << (size_bytes(dtype) * 8 - (is_signed(dtype) ? 1 : 0))) - 1;
  } else {
    return std::numeric_limits<W>::infinity();
  }
}

template <class W>
bool is_nan(W value) {
  if constexpr (kIsInteger<W>) return false;
  if constexpr (!kIsInteger<W>) return std::isnan(value);
}

/// NaN if either is NaN; -0 is below +0.
template <class W>
W lesser(W a, W b) {
  if (is_nan(a)) return a;
  if (is_nan(b)) return b;
  if constexpr (!kIsInteger<W>) {
    if (a == 0 && b == 0) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}

template <class W>
W greater(W a, W b) {
  if (is_nan(a)) return a;
  if (is_nan(b)) return b;
  if constexpr (!kIsInteger<W>) {
    if (a == 0 && b == 0) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

}  // namespace millrace::reference
