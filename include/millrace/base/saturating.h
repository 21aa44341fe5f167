// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

/// int64 arithmetic that saturates. INT64_MIN and INT64_MAX mean "left the int64 range" and stay saturated, so no later
/// step can turn a lost value into a plausible number. The exception is multiplying by 0, which correctly gives 0.
namespace millrace::saturating {

inline constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

constexpr bool is_end(std::int64_t value) { return value == kMax || value == kMin; }

constexpr std::int64_t add(std::int64_t a, std::int64_t b) {
  if (is_end(a)) return a;
  if (is_end(b)) return b;
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? kMax : kMin) : sum;
}

constexpr std::int64_t negate(std::int64_t a) { return a == kMin ? kMax : a == kMax ? kMin : -a; }

constexpr std::int64_t subtract(std::int64_t a, std::int64_t b) { return add(a, negate(b)); }

constexpr std::int64_t multiply(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  std::int64_t product = 0;
  if (!is_end(a) && !is_end(b) && !__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? kMax : kMin;
}

/// Rounds towards minus infinity. Precondition: b >= 1.
constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (is_end(a)) return a;
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace millrace::saturating
