// SPDX-License-Identifier: Apache-2.0
// Exact numbers from C++ and from texts, before an op or an attribute gives them a dtype.
#include "millrace/base/number.h"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text/number.h"

namespace millrace {

Number::Number(double value) : kind_(Kind::kDouble), bits_(std::bit_cast<std::uint64_t>(value)) {
  const bool is_negative_zero = value == 0 && std::signbit(value);
  if (is_negative_zero || std::trunc(value) != value || !(value >= -0x1p63 && value < 0x1p64)) return;
  *this = value < 0x1p63 ? Number(static_cast<std::int64_t>(value)) : Number(static_cast<std::uint64_t>(value));
}

bool Number::fits(DType dtype) const {
  if (is_float(dtype)) return true;
  if (!is_integer()) return false;
  return visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {
      return bits_ <= 1;
    } else if constexpr (std::integral<T>) {
      return kind_ == Kind::kSigned ? std::in_range<T>(as_i64()) : std::in_range<T>(bits_);
    }
    return false;
  });
}

double Number::as_double() const {
  switch (kind_) {
    case Kind::kSigned:
      return static_cast<double>(as_i64());
    case Kind::kUnsigned:
      return static_cast<double>(bits_);
    case Kind::kDouble:
      break;
  }
  return std::bit_cast<double>(bits_);
}

std::string Number::to_text() const {
  switch (kind_) {
    case Kind::kSigned:
      return number_text(as_i64());
    case Kind::kUnsigned:
      return number_text(bits_);
    case Kind::kDouble:
      break;
  }
  return number_text(std::bit_cast<double>(bits_));
}

std::string fitting_numbers_text(DType dtype) {
  if (dtype == DType::kBool) return "0 or 1";
  return visit_dtype(dtype, [&]<class T>() -> std::string {
    if constexpr (!std::integral<T>)
      return "a number";
    else
      return fmt::format("an integer from {} to {}", std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  });
}

}  // namespace millrace
