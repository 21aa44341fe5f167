// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "millrace/base/dtype.h"
#include "tests/jit/guarded_memory.h"

namespace millrace::test {

/// What a row of a lane test holds.
enum class RowValues { kRandom, kFew, kEqual, kSpecial, kLowest, kHighest };
inline constexpr RowValues kAllRowValues[] = {RowValues::kRandom,  RowValues::kFew,    RowValues::kEqual,
                                              RowValues::kSpecial, RowValues::kLowest, RowValues::kHighest};

template <class T>
T row_value(RowValues values, std::mt19937_64& random) {
  using Limits = std::numeric_limits<std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, T, float>>;
  constexpr bool kIsFloat = !std::is_integral_v<T>;
  const auto few = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  switch (values) {
    case RowValues::kRandom:
      if constexpr (kIsFloat) return static_cast<T>(static_cast<float>(few(2'000'001) - 1'000'000) / 1024);
      return static_cast<T>(static_cast<std::int64_t>(random()));
    case RowValues::kFew:
      return static_cast<T>(few(3) + (kIsFloat || std::is_signed_v<T> ? -1 : 0));
    case RowValues::kEqual:
      return static_cast<T>(7);
    case RowValues::kSpecial: {
      if constexpr (!kIsFloat) return few(2) == 0 ? Limits::lowest() : Limits::max();
      const auto sign = few(2) == 0 ? -1 : 1;
      const decltype(Limits::infinity()) choices[] = {0, 0, 0, Limits::denorm_min(), 1, Limits::infinity()};
      if (few(40) == 0) return static_cast<T>(std::copysign(Limits::quiet_NaN(), sign));
      return static_cast<T>(sign * choices[few(6)]);
    }
    case RowValues::kLowest:
      if constexpr (kIsFloat) return static_cast<T>(-Limits::infinity());
      return static_cast<T>(Limits::lowest());
    default:
      if constexpr (kIsFloat) return static_cast<T>(Limits::infinity());
      return static_cast<T>(Limits::max());
  }
}

template <class T>
std::vector<T> make_row(RowValues values, std::int64_t n, std::mt19937_64& random) {
  std::vector<T> row(static_cast<std::size_t>(n));
  for (T& value : row) value = row_value<T>(values, random);
  return row;
}

/// A row in memory that may be read only, at a page that may not be touched.
template <class T>
GuardedMemory guarded_row(const std::vector<T>& row, GuardedMemory::Side side) {
  GuardedMemory memory(row.size() * sizeof(T), side);
  if (!row.empty()) std::memcpy(memory.data(), row.data(), row.size() * sizeof(T));
  memory.make_read_only();
  return memory;
}

/// An element as a number that holds any dtype's.
template <class T>
long double number_of(T value) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<long double>(value);
  if constexpr (!std::is_arithmetic_v<T>) return static_cast<long double>(static_cast<float>(value));
}

/// Sizes around those at which a function of vectors changes its way.
inline std::vector<std::int64_t> sizes_around(std::int64_t lanes, std::int64_t block) {
  return {0,
          1,
          2,
          lanes - 1,
          lanes,
          lanes + 1,
          3 * lanes - 2,
          block - 1,
          block,
          block + 1,
          2 * block - 1,
          2 * block,
          2 * block + lanes + 3,
          7 * block + 5};
}

}  // namespace millrace::test
