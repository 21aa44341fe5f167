// SPDX-License-Identifier: Apache-2.0
// Inputs for programs that measure sorts. A repeated input trains the branch predictor, so there are 16.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

namespace millrace::bench {

inline constexpr std::size_t kInputs = 16;

/// What rows hold. Random rows are the usual ones; the others are where sorts and selections go wrong.
enum class Order : std::uint8_t { kRandom, kAscending, kDescending, kEqual, kFewValues };
inline constexpr std::array<std::string_view, 5> kOrderNames = {"random", "ascending", "descending", "equal",
                                                                "few_values"};

inline std::vector<std::vector<float>> make_inputs(std::int64_t rows, std::int64_t n, Order order) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> inputs(kInputs, std::vector<float>(static_cast<std::size_t>(rows * n)));
  for (std::vector<float>& input : inputs) {
    for (float& value : input) value = order == Order::kFewValues ? static_cast<float>(random() % 16) : normal(random);
    if (order == Order::kEqual) std::ranges::fill(input, 1.0f);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto begin = input.begin() + row * n;
      if (order == Order::kAscending) std::sort(begin, begin + n);
      if (order == Order::kDescending) std::sort(begin, begin + n, std::greater());
    }
  }
  return inputs;
}

}  // namespace millrace::bench
