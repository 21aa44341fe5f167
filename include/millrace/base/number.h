// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "millrace/base/dtype.h"

namespace millrace {

/// A number as the caller wrote it: exact if it is an integer in [-2^63, 2^64), otherwise a double. 4 and 4.0 are the
/// same number; -0.0 and each NaN payload are distinct.
class Number {
 public:
  Number() = default;
  template <std::integral T>
  Number(T value)
      : kind_(std::unsigned_integral<T> && static_cast<std::uint64_t>(value) >> 63 != 0 ? Kind::kUnsigned
                                                                                        : Kind::kSigned),
        bits_(static_cast<std::uint64_t>(value)) {}
  Number(double value);

  bool is_integer() const { return kind_ != Kind::kDouble; }
  /// Whether the dtype can hold the number. An integer dtype must hold it exactly, bool holds only 0 and 1, and a float
  /// dtype holds any number, rounded.
  bool fits(DType) const;
  /// Precondition: is_integer(). The result is the number if it fits the type, otherwise its bits.
  std::int64_t as_i64() const { return static_cast<std::int64_t>(bits_); }
  std::uint64_t as_u64() const { return bits_; }
  /// The nearest double.
  double as_double() const;
  /// Text that reads back as the same number: "-7", "0.1", "-0", "inf", "nan(0xfff8000000000000)".
  std::string to_text() const;
  friend bool operator==(const Number&, const Number&) = default;

 private:
  enum class Kind : std::uint8_t { kSigned, kUnsigned, kDouble };  // kUnsigned: above the int64 range
  Kind kind_ = Kind::kSigned;
  std::uint64_t bits_ = 0;
};

/// Describes, for messages, the numbers that fit an integer dtype or bool: "0 or 1" for bool, "an integer from -128 to
/// 127" for i8.
std::string fitting_numbers_text(DType);

}  // namespace millrace
