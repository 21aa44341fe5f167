// SPDX-License-Identifier: Apache-2.0
// Runs instructions on vector registers that hold floats of a test's choice.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "tests/isa/bare_wave.h"

namespace millrace::isa::test {

inline constexpr std::uint32_t kNumLanes = 32;
template <class T>
using LaneArray = std::array<T, kNumLanes>;

/// Puts a value of 32 or 64 bits per lane into a register, or two.
template <class T>
void set_lanes(BareWave& bare, std::uint32_t first, const LaneArray<T>& values) {
  for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &values[lane], sizeof(T));
    bare.wave().vectors[first].lanes[lane] = static_cast<std::uint32_t>(bits);
    if (sizeof(T) == 8) bare.wave().vectors[first + 1].lanes[lane] = static_cast<std::uint32_t>(bits >> 32);
  }
  const std::uint64_t all = bare.wave().machine.all_lanes();
  for (std::uint32_t i = 0; i < sizeof(T) / 4; ++i) bare.wave().set_defined(first + i, all);
}

template <class T>
T lane_value(BareWave& bare, std::uint32_t first, std::uint32_t lane) {
  std::uint64_t bits = bare.wave().vectors[first].lanes[lane];
  if (sizeof(T) == 8) bits |= static_cast<std::uint64_t>(bare.wave().vectors[first + 1].lanes[lane]) << 32;
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

/// Equal bits, or both NaN.
template <class T>
bool is_same(T a, T b) {
  return (a != a && b != b) || std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Any float; zeros, infinities, NaN, subnormals and neighbours of 1 and of the limits more often than chance has them.
template <class T>
T sample_float(std::mt19937_64& random) {
  using L = std::numeric_limits<T>;
  const T edges[] = {0,
                     1,
                     2,
                     L::infinity(),
                     L::quiet_NaN(),
                     L::denorm_min(),
                     L::min(),
                     L::max(),
                     L::epsilon(),
                     T(0.5),
                     L::min() / 2,
                     1 + L::epsilon(),
                     L::max() / 2,
                     1 / L::max(),
                     T(3),
                     T(1) / 3,
                     1 - L::epsilon() / 2,
                     L::min() * 3};
  const std::uint64_t choice = random();
  T value = 0;
  if (choice % 4 == 0) {
    value = edges[choice / 4 % std::size(edges)];
  } else if (choice % 4 == 1) {  // near 1
    value = std::ldexp(1 + static_cast<T>(random() >> 11) * T(0x1p-53), static_cast<int>(random() % 40) - 20);
  } else {
    const std::uint64_t bits = random();
    std::memcpy(&value, &bits, sizeof(T));
  }
  return choice >> 63 != 0 ? -value : value;
}

template <class T>
LaneArray<T> sample_lanes(std::mt19937_64& random) {
  LaneArray<T> values;
  for (T& value : values) value = sample_float<T>(random);
  return values;
}

}  // namespace millrace::isa::test
