// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tests/reference/tensor.h"

namespace millrace::test {

/// Terms of a long sum that are hard in a way of their own.
struct Terms {
  const char* name;
  /// Term i of n; `draw` is random bits.
  double (*at)(std::int64_t i, std::int64_t n, std::uint64_t draw);
  bool is_positive = true;
  /// Whether f32 holds every partial sum of up to 2^24 of them.
  bool is_exact = false;
  /// Whether they come in random order.
  bool is_shuffled = false;
};
std::span<const Terms> all_terms();
const Terms& terms_called(std::string_view name);

/// They fill a tensor in row-major order, or in random order.
reference::Tensor make_terms(const Terms&, DType, const reference::Extents&, std::uint64_t seed = 1);

/// A sum in long double, and that of the magnitudes.
struct ExactSum {
  long double sum = 0, magnitude = 0;
  std::int64_t count = 0;

  void add(long double term) {
    sum += term;
    magnitude += term < 0 ? -term : term;
    ++count;
  }
};

/// How near a result in f32 has to be.
struct SumLimits {
  std::int64_t block;    // of the documented bound
  long double relative;  // for positive terms
};
inline constexpr SumLimits kSumLimits = {128, 5e-6L}, kProductLimits = {512, 2e-5L};

/// What is wrong with `found`, the sum times `factor`, or nothing. In f64 the limits shrink with its unit roundoff; a
/// 16-bit result may be half an ulp further away.
std::string check_sum(DType, long double found, const ExactSum& exact, const Terms&, const SumLimits&,
                      long double factor = 1);

}  // namespace millrace::test
