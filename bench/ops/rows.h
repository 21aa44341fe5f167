// SPDX-License-Identifier: Apache-2.0
// Inputs for programs that measure sorts. There are 16, because a single repeated input would train the branch
// predictor.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string_view>
#include <type_traits>
#include <vector>

namespace millrace::bench {

inline constexpr std::size_t kInputs = 16;

/// The order of the elements of a row. Random rows are the usual case; the others are hard for sorts and selections.
enum class Order : std::uint8_t { kRandom, kAscending, kDescending, kEqual, kFewValues };
inline constexpr std::array<std::string_view, 5> kOrderNames = {"random", "ascending", "descending", "equal",
                                                                "few_values"};

/// Random floats are normal, random integers have all bits.
template <class T = float>
std::vector<std::vector<T>> make_inputs(std::int64_t rows, std::int64_t n, Order order) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  const auto draw = [&] {
    if (order == Order::kFewValues) return static_cast<T>(static_cast<float>(random() % 16));
    if constexpr (std::is_integral_v<T>) return static_cast<T>(random());
    if constexpr (!std::is_integral_v<T>) return static_cast<T>(normal(random));
  };
  const auto less = [](T a, T b) {
    if constexpr (std::is_arithmetic_v<T>) return a < b;
    if constexpr (!std::is_arithmetic_v<T>) return static_cast<float>(a) < static_cast<float>(b);
  };
  std::vector<std::vector<T>> inputs(kInputs, std::vector<T>(static_cast<std::size_t>(rows * n)));
  for (std::vector<T>& input : inputs) {
    for (T& value : input) value = draw();
    if (order == Order::kEqual) std::ranges::fill(input, static_cast<T>(1.0f));
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto begin = input.begin() + row * n;
      if (order == Order::kAscending) std::sort(begin, begin + n, less);
      if (order == Order::kDescending) std::sort(begin, begin + n, [&](T a, T b) { return less(b, a); });
    }
  }
  return inputs;
}

}  // namespace millrace::bench
