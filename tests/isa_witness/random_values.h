// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace millrace::test {

/// Numbers at which arithmetic changes its ways more often than chance has them.
template <class F>
F sample_number(std::mt19937_64& random) {
  using L = std::numeric_limits<F>;
  const F edges[] = {0,
                     1,
                     2,
                     3,
                     F(0.5),
                     L::min(),
                     L::max(),
                     L::denorm_min(),
                     L::epsilon(),
                     L::min() / 3,
                     F(2147483648),
                     F(4294967296),
                     F(9223372036854775808.0),
                     F(127.5),
                     F(-32769),
                     F(1) / 3};
  const std::uint64_t choice = random();
  F value = 0;
  switch (choice % 5) {
    case 0:
      value = edges[choice / 8 % std::size(edges)];
      break;
    case 1:
      value = std::ldexp(static_cast<F>(random() >> 11), static_cast<int>(random() % 80) - 90);
      break;
    case 2:
      value = static_cast<F>(static_cast<std::int64_t>(random()) >> random() % 60);
      break;
    default: {
      const std::uint64_t bits = random();
      if constexpr (sizeof(F) == 4) value = std::bit_cast<F>(static_cast<std::uint32_t>(bits));
      if constexpr (sizeof(F) == 8) value = std::bit_cast<F>(bits);
    }
  }
  return choice >> 63 != 0 ? -value : value;
}

inline std::uint64_t sample_integer(std::mt19937_64& random) {
  static constexpr std::uint64_t kEdges[] = {0,
                                             1,
                                             2,
                                             7,
                                             0x7f,
                                             0x80,
                                             0x7fff,
                                             0x8000,
                                             0x7fff'ffff,
                                             0x8000'0000,
                                             ~std::uint64_t{0},
                                             std::uint64_t{1} << 63,
                                             0xffff'ffff,
                                             10,
                                             1000};
  const std::uint64_t choice = random();
  if (choice % 3 == 0) return kEdges[choice / 3 % std::size(kEdges)];
  const std::uint64_t value = choice % 3 == 1 ? random() >> random() % 64 : random();
  return choice >> 63 != 0 ? 0 - value : value;
}

}  // namespace millrace::test
