// SPDX-License-Identifier: Apache-2.0
// Values of composites, against their definitions as plain loops.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "tests/graph/composites/composed.h"

namespace millrace {
namespace {

using test::Composed;
using Values = std::vector<double>;

const std::vector<double> kX = {-3, -1.5, -0.25, 0, 0.5, 1, 2.5, 4, 7, -6, 3.5, -0.75};

TEST_CASE("clamp, silu and relu") {
  const auto clamped = Composed().with("x", {12}, kX).run([](Composed& c) { return clamp(c["x"], -1, 2); });
  const auto silued = Composed().with("x", {12}, kX).run([](Composed& c) { return silu(c["x"]); });
  const auto rectified = Composed().with("x", {12}, kX).run([](Composed& c) { return relu(c["x"]); });
  for (std::size_t i = 0; i < kX.size(); ++i) {
    CHECK(rectified[i] == std::max(kX[i], 0.0));
    CHECK(clamped[i] == std::clamp(kX[i], -1.0, 2.0));
    CHECK(silued[i] == doctest::Approx(kX[i] / (1 + std::exp(-kX[i]))).epsilon(1e-6));
  }
}

TEST_CASE("a bound of clamp beyond the dtype's range is no limit") {
  const std::vector<double> x = {-100, -1, 0, 7, 127};
  const auto y = Composed().with("x", {5}, x, DType::kI8).run([](Composed& c) { return clamp(c["x"], -1000, 1e300); });
  CHECK(y == x);
}

TEST_CASE("gelu is x times the normal distribution's function") {
  const auto y = Composed().with("x", {12}, kX).run([](Composed& c) { return gelu(c["x"]); });
  for (std::size_t i = 0; i < kX.size(); ++i) {
    // erfc is exact far below 0, where 1 + erf cancels: f32's erf leaves an error of an ulp of 1 there.
    const double expected = kX[i] * 0.5 * std::erfc(-kX[i] / std::sqrt(2.0));
    CHECK(std::fabs(y[i] - expected) <= 4e-7 * std::max(1.0, std::fabs(kX[i])));
  }
}

TEST_CASE("softmax is e^x over its sum, far from 0 too") {
  std::vector<double> x = kX;
  for (double& value : x) value += 300;
  const auto y = Composed().with("x", {3, 4}, x).run([](Composed& c) { return softmax(c["x"]); });
  for (std::size_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum += std::exp(x[row * 4 + i] - 300);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(y[row * 4 + i] == doctest::Approx(std::exp(x[row * 4 + i] - 300) / sum).epsilon(1e-6));
    }
  }
}

TEST_CASE("layer_norm subtracts the mean and divides by the standard deviation") {
  const std::vector<double> scale = {1, 2, -1, 0.5}, bias = {0, 1, -2, 3};
  const auto y = Composed().with("x", {3, 4}, kX).with("s", {4}, scale).with("b", {4}, bias).run([](Composed& c) {
    return layer_norm(c["x"], c["s"], c["b"], 1e-3);
  });
  for (std::size_t row = 0; row < 3; ++row) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < 4; ++i) mean += kX[row * 4 + i] / 4;
    for (std::size_t i = 0; i < 4; ++i) variance += (kX[row * 4 + i] - mean) * (kX[row * 4 + i] - mean) / 4;
    for (std::size_t i = 0; i < 4; ++i) {
      const double expected = (kX[row * 4 + i] - mean) / std::sqrt(variance + 1e-3) * scale[i] + bias[i];
      CHECK(y[row * 4 + i] == doctest::Approx(expected).epsilon(1e-5));
    }
  }
}

TEST_CASE("where broadcasts all three") {
  const auto y = Composed()
                     .with("c", {3, 1}, {1, 0, 1}, DType::kBool)
                     .with("x", {4}, {1, 2, 3, 4})
                     .with("y", {}, {-1})
                     .run([](Composed& c) { return where(c["c"], c["x"], c["y"]); });
  CHECK(y == std::vector<double>{1, 2, 3, 4, -1, -1, -1, -1, 1, 2, 3, 4});
}

TEST_CASE("log_softmax is the logarithm of softmax, far from it too") {
  std::vector<double> x = kX;
  x[1] = -500;
  const auto y = Composed().with("x", {3, 4}, x).run([](Composed& c) { return log_softmax(c["x"], 0); });
  for (std::size_t column = 0; column < 4; ++column) {
    double sum = 0;
    for (std::size_t row = 0; row < 3; ++row) sum += std::exp(x[row * 4 + column]);
    for (std::size_t row = 0; row < 3; ++row) {
      CHECK(y[row * 4 + column] == doctest::Approx(x[row * 4 + column] - std::log(sum)).epsilon(1e-5));
    }
  }
}

TEST_CASE("rms_norm divides by the root of the mean square") {
  const std::vector<double> scale = {1, 2, -1, 0.5};
  const auto y = Composed().with("x", {3, 4}, kX).with("s", {4}, scale).run([](Composed& c) {
    return rms_norm(c["x"], c["s"], 1e-3);
  });
  for (std::size_t row = 0; row < 3; ++row) {
    double squares = 0;
    for (std::size_t i = 0; i < 4; ++i) squares += kX[row * 4 + i] * kX[row * 4 + i];
    for (std::size_t i = 0; i < 4; ++i) {
      const double expected = kX[row * 4 + i] / std::sqrt(squares / 4 + 1e-3) * scale[i];
      CHECK(y[row * 4 + i] == doctest::Approx(expected).epsilon(1e-5));
    }
  }
}

TEST_CASE("group_norm normalizes groups of channels") {
  const std::vector<double> scale = {1, 2, 3, 4, 5, 6}, bias = {0, 1, 0, -1, 0, 2};
  // One image of 6 channels of 2 points, in 2 groups of 3 channels.
  const auto y = Composed().with("x", {1, 6, 2}, kX).with("s", {6}, scale).with("b", {6}, bias).run([](Composed& c) {
    return group_norm(c["x"], 2, c["s"], c["b"], 1e-3);
  });
  for (std::size_t group = 0; group < 2; ++group) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < 6; ++i) mean += kX[group * 6 + i] / 6;
    for (std::size_t i = 0; i < 6; ++i) variance += (kX[group * 6 + i] - mean) * (kX[group * 6 + i] - mean) / 6;
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t at = group * 6 + i, channel = at / 2;
      const double expected = (kX[at] - mean) / std::sqrt(variance + 1e-3) * scale[channel] + bias[channel];
      CHECK(y[at] == doctest::Approx(expected).epsilon(1e-4));
    }
  }
}

/// 300s and about: their squares are beyond f16, and even numbers are exact in it.
Values large_values() {
  Values x;
  for (int i = 0; i < 12; ++i) x.push_back(300 + 2 * (i * 5 % 7));
  return x;
}

/// Each row of `x` less its mean, over its deviation; by `squares` alone, over the root of its mean square.
Values normal_rows(const Values& x, std::size_t length, bool squares) {
  Values y;
  for (std::size_t begin = 0; begin < x.size(); begin += length) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < length && !squares; ++i) mean += x[begin + i] / static_cast<double>(length);
    for (std::size_t i = 0; i < length; ++i) {
      square += (x[begin + i] - mean) * (x[begin + i] - mean) / static_cast<double>(length);
    }
    for (std::size_t i = 0; i < length; ++i) y.push_back((x[begin + i] - mean) / std::sqrt(square + 1e-5));
  }
  return y;
}

void check_near(const Values& found, const Values& expected, double epsilon) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(epsilon));
}

TEST_CASE("norms of 16-bit floats are computed in f32") {
  const Values x = large_values(), one(4, 1), zero(4, 0), ones(6, 1), zeros(6, 0);
  const DType f16 = DType::kF16;
  const double half_ulp = 0x1p-11;
  const Values rms = Composed().with("x", {3, 4}, x, f16).with("s", {4}, one, f16).run([](Composed& c) {
    return rms_norm(c["x"], c["s"]);
  });
  check_near(rms, normal_rows(x, 4, true), half_ulp);
  const auto normalize = [&](const reference::Extents& extents, const Values& scale, const Values& bias,
                             const std::function<Tensor(Composed&)>& norm) {
    const auto count = static_cast<std::int64_t>(scale.size());
    return Composed().with("x", extents, x, f16).with("s", {count}, scale, f16).with("b", {count}, bias, f16).run(norm);
  };
  const auto layer = [](Composed& c) { return layer_norm(c["x"], c["s"], c["b"]); };
  check_near(normalize({3, 4}, one, zero, layer), normal_rows(x, 4, false), half_ulp);
  const auto groups = [](Composed& c) { return group_norm(c["x"], 2, c["s"], c["b"]); };
  check_near(normalize({1, 6, 2}, ones, zeros, groups), normal_rows(x, 6, false), half_ulp);
}

TEST_CASE("softmax of more 16-bit floats than f16 can count") {
  constexpr std::int64_t kCount = 70000;  // the sum is beyond 65504
  const Values zeros(kCount, 0);
  const auto run_on_zeros = [&](Tensor (*function)(Tensor, std::int64_t)) {
    return Composed().with("x", {kCount}, zeros, DType::kF16).run([&](Composed& c) { return function(c["x"], 0); });
  };
  const double share = 1.0 / kCount;
  for (const double y : run_on_zeros(softmax)) REQUIRE(std::fabs(y - share) <= 0x1p-25);  // half a subnormal step
  for (const double y : run_on_zeros(log_softmax)) REQUIRE(std::fabs(y - std::log(share)) <= 0x1p-8);
}

TEST_CASE("attention of 16-bit floats has scores beyond f16") {
  constexpr std::size_t kDepth = 128;
  Values q(kDepth, 32), k(3 * kDepth, 32), v = {1, 2, 4};
  k[0] = 31.75;        // scores of rows 0 and 1 differ by less than f16 tells there
  k[2 * kDepth] = 16;  // row 2 is far below
  Values weights;
  double sum = 0, expected = 0;
  for (std::size_t row = 0; row < 3; ++row) {
    double score = 0;
    for (std::size_t i = 0; i < kDepth; ++i) score += q[i] * k[row * kDepth + i];
    weights.push_back(std::exp((score - 32.0 * 32 * kDepth) / std::sqrt(static_cast<double>(kDepth))));
    sum += weights[row];
  }
  for (std::size_t row = 0; row < 3; ++row) expected += weights[row] / sum * v[row];
  const DType f16 = DType::kF16;
  const Values y = Composed()
                       .with("q", {1, kDepth}, q, f16)
                       .with("k", {3, kDepth}, k, f16)
                       .with("v", {3, 1}, v, f16)
                       .run([](Composed& c) { return attention(c["q"], c["k"], c["v"]); });
  REQUIRE(y.size() == 1);
  CHECK(std::fabs(y[0] - expected) <= 0x1p-10);  // an ulp of f16 here, half of it from rounding
}

}  // namespace
}  // namespace millrace
