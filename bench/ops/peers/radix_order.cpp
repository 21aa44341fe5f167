// SPDX-License-Identifier: Apache-2.0
#include "bench/ops/peers/radix_order.h"

#include <array>
#include <bit>
#include <utility>
#include <vector>

namespace millrace::peers {
namespace {

constexpr unsigned kDigits = 3, kDigitBits = 11;
constexpr std::uint32_t kMask = (1u << kDigitBits) - 1;

using Counts = std::array<std::uint32_t, 1 << kDigitBits>;

std::uint32_t digit(std::uint64_t word, unsigned number) {
  return static_cast<std::uint32_t>(word >> (32 + number * kDigitBits)) & kMask;
}

/// Maps -0 to +0, because they are equal.
std::uint32_t key_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0f);
  return bits ^ (bits >> 31 != 0 ? ~std::uint32_t{0} : std::uint32_t{1} << 31);
}

}  // namespace

void radix_argsort(const float* x, std::int64_t* indices, std::int64_t rows, std::int64_t n) {
  static std::vector<std::uint64_t> words, other;
  words.resize(static_cast<std::size_t>(n));
  other.resize(static_cast<std::size_t>(n));
  for (std::int64_t row = 0; row < rows; ++row) {
    std::array<Counts, kDigits> counts{};
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t word = std::uint64_t{key_of(x[row * n + i])} << 32 | static_cast<std::uint64_t>(i);
      words[static_cast<std::size_t>(i)] = word;
      for (unsigned d = 0; d < kDigits; ++d) ++counts[d][digit(word, d)];
    }
    for (unsigned d = 0; d < kDigits; ++d) {
      std::uint32_t position = 0;
      for (std::uint32_t& count : counts[d]) position += std::exchange(count, position);
      for (const std::uint64_t word : words) {
        const std::uint32_t to = counts[d][digit(word, d)]++;
        if (d + 1 == kDigits) {
          indices[row * n + to] = static_cast<std::int64_t>(word & 0xffff'ffff);
        } else {
          other[to] = word;
        }
      }
      if (d + 1 < kDigits) words.swap(other);
    }
  }
}

}  // namespace millrace::peers
