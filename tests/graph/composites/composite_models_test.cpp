// SPDX-License-Identifier: Apache-2.0
// Composites that models are made of, against plain loops in double.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include <doctest/doctest.h>

#include "tests/graph/composites/composed.h"

namespace millrace {
namespace {

using test::Composed;
using Values = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
const Values kX = {-3, -1.5, -0.25, 0, 0.5, 1, 2.5, 4, 7, -6, 3.5, -0.75};

/// Different numbers in [-1, 1].
Values varied(std::size_t count, double phase) {
  Values values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(std::round(std::sin(phase + 2.3 * static_cast<double>(i)) * 64) / 64);
  return values;
}

void check_close(const Values& y, const Values& expected, double tolerance = 2e-6) {
  REQUIRE(y.size() == expected.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(y[i] - expected[i]) <= tolerance * std::max(1.0, std::fabs(expected[i])));
  }
}

Values each(const Values& x, double (*f)(double)) {
  Values y;
  for (const double value : x) y.push_back(f(value));
  return y;
}

TEST_CASE("elu, mish, gelu_tanh and is_inf") {
  const auto of = [](Tensor (*f)(Tensor), const Values& x) {
    return Composed().with("x", {static_cast<std::int64_t>(x.size())}, x).run([f](Composed& c) { return f(c["x"]); });
  };
  check_close(of([](Tensor x) { return elu(x); }, kX), each(kX, [](double v) { return v > 0 ? v : std::expm1(v); }));
  check_close(of([](Tensor x) { return elu(x, 0.5); }, kX),
              each(kX, [](double v) { return v > 0 ? v : 0.5 * std::expm1(v); }));
  check_close(of(mish, kX), each(kX, [](double v) { return v * std::tanh(std::log1p(std::exp(v))); }));
  check_close(of(gelu_tanh, kX), each(kX, [](double v) {
                return v / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
              }));
  CHECK(of([](Tensor x) { return elu(x); }, {1000, -1000}) == Values{1000, -1});
  CHECK(of(is_inf, {kInf, -kInf, 1, std::nan("")}) == Values{1, 1, 0, 0});
}

TEST_CASE("logsumexp holds far from 0, and passes infinities on") {
  const Values x = {1000, 1001, -1000, -1001, -kInf, -kInf, kInf, 3};
  const Values y = Composed().with("x", {4, 2}, x).run([](Composed& c) { return logsumexp(c["x"], {1}); });
  check_close({y[0], y[1]}, {1001 + std::log1p(std::exp(-1.0)), -1000 + std::log1p(std::exp(-1.0))}, 1e-7);
  CHECK(y[2] == -kInf);
  CHECK(y[3] == kInf);
}

TEST_CASE("l2_normalize divides by the length, but at least by epsilon") {
  const Values y = Composed().with("x", {2, 2}, {3, 4, 0, 0}).run([](Composed& c) { return l2_normalize(c["x"]); });
  check_close(y, {0.6, 0.8, 0, 0});
}

TEST_CASE("batch_norm takes each channel's statistics, and instance_norm finds them") {
  const Values mean = {1, -1}, variance = {4, 0.25}, scale = {2, -1}, bias = {0.5, 3};
  const Values y = Composed()
                       .with("x", {2, 2, 3}, kX)
                       .with("m", {2}, mean)
                       .with("v", {2}, variance)
                       .with("s", {2}, scale)
                       .with("b", {2}, bias)
                       .run([](Composed& c) { return batch_norm(c["x"], c["m"], c["v"], c["s"], c["b"], 1e-3); });
  const Values own =
      Composed().with("x", {2, 2, 3}, kX).with("s", {2}, scale).with("b", {2}, bias).run([](Composed& c) {
        return instance_norm(c["x"], c["s"], c["b"], 1e-3);
      });
  Values expected, expected_own;
  for (std::size_t row = 0; row < 4; ++row) {
    const std::size_t channel = row % 2;
    double row_mean = 0, row_variance = 0;
    for (std::size_t i = 0; i < 3; ++i) row_mean += kX[row * 3 + i] / 3;
    for (std::size_t i = 0; i < 3; ++i) row_variance += std::pow(kX[row * 3 + i] - row_mean, 2) / 3;
    for (std::size_t i = 0; i < 3; ++i) {
      const double x = kX[row * 3 + i];
      expected.push_back((x - mean[channel]) / std::sqrt(variance[channel] + 1e-3) * scale[channel] + bias[channel]);
      expected_own.push_back((x - row_mean) / std::sqrt(row_variance + 1e-3) * scale[channel] + bias[channel]);
    }
  }
  check_close(y, expected);
  check_close(own, expected_own, 1e-5);
}

/// Attention in plain loops: `heads` query heads in groups over `shared` heads of keys and values.
Values attend(const Values& q, const Values& k, const Values& v, std::size_t heads, std::size_t shared, std::size_t m,
              std::size_t n, std::size_t d, bool is_causal) {
  Values y(heads * m * d, 0);
  for (std::size_t h = 0; h < heads; ++h) {
    const std::size_t from = h / (heads / shared);
    for (std::size_t i = 0; i < m; ++i) {
      Values weight(n, 0);
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) {
        if (is_causal && j + m > i + n) continue;
        double score = 0;
        for (std::size_t c = 0; c < d; ++c) score += q[(h * m + i) * d + c] * k[(from * n + j) * d + c];
        weight[j] = std::exp(score / std::sqrt(static_cast<double>(d)));
        sum += weight[j];
      }
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t c = 0; c < d; ++c) y[(h * m + i) * d + c] += weight[j] / sum * v[(from * n + j) * d + c];
      }
    }
  }
  return y;
}

TEST_CASE("attention serves groups of query heads, and hides later keys if it is causal") {
  const Values q = varied(4 * 3 * 4, 0.1), k = varied(2 * 5 * 4, 1), v = varied(2 * 5 * 4, 2);
  for (const bool is_causal : {false, true}) {
    const Values y = Composed()
                         .with("q", {1, 4, 3, 4}, q)
                         .with("k", {1, 2, 5, 4}, k)
                         .with("v", {1, 2, 5, 4}, v)
                         .run([&](Composed& c) { return attention(c["q"], c["k"], c["v"], {.is_causal = is_causal}); });
    check_close(y, attend(q, k, v, 4, 2, 3, 5, 4, is_causal));
  }
}

TEST_CASE("attention serves groups that share only the values") {
  const Values q = varied(4 * 3 * 4, 0.1), k = varied(4 * 5 * 4, 1), v = varied(2 * 5 * 4, 2);
  Values repeated;
  for (const std::size_t head : {0, 0, 1, 1}) repeated.insert(repeated.end(), &v[head * 20], &v[head * 20] + 20);
  const Values y =
      Composed().with("q", {4, 3, 4}, q).with("k", {4, 5, 4}, k).with("v", {2, 5, 4}, v).run([](Composed& c) {
        return attention(c["q"], c["k"], c["v"]);
      });
  check_close(y, attend(q, k, repeated, 4, 4, 3, 5, 4, false));
}

TEST_CASE("rotary_embedding rotates halves, or neighbours") {
  const Values x = varied(2 * 3 * 4, 0.4), angles = {0, 0, 0.5, 0.25, 1, 0.5};
  for (const bool interleaved : {false, true}) {
    const Values y = Composed()
                         .with("x", {2, 3, 4}, x)
                         .with("c", {3, 2}, each(angles, [](double a) { return std::cos(a); }))
                         .with("s", {3, 2}, each(angles, [](double a) { return std::sin(a); }))
                         .run([&](Composed& c) { return rotary_embedding(c["x"], c["c"], c["s"], interleaved); });
    Values expected(x.size());
    for (std::size_t row = 0; row < 6; ++row) {
      for (std::size_t pair = 0; pair < 2; ++pair) {
        const std::size_t a = row * 4 + (interleaved ? 2 * pair : pair), b = interleaved ? a + 1 : a + 2;
        const double angle = angles[row % 3 * 2 + pair];
        expected[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
        expected[b] = x[a] * std::sin(angle) + x[b] * std::cos(angle);
      }
    }
    check_close(y, expected);
  }
}

/// Philox 4x32-10 as its authors write it.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xd2511f53} * counter[0], second = std::uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(first)};
    key0 += 0x9e3779b9;
    key1 += 0xbb67ae85;
  }
  return counter;
}

std::vector<std::uint32_t> bits_of(std::uint64_t seed, Shape shape, std::size_t count) {
  GraphBuilder graph;
  graph.output("y", random_bits(graph.input("seed", DType::kU64, {}), std::move(shape)));
  Session session = Session::create(compile(graph.finish().value()).value()).value();
  std::vector<std::uint32_t> bits(count);
  REQUIRE(session.run({bind(seed)}, {bind(bits)}).ok());
  return bits;
}

TEST_CASE("random_bits are Philox 4x32-10") {
  // The first of the known answers that Random123 publishes: counter and key 0.
  CHECK(philox({}, 0, 0) == std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(bits_of(0, {4}, 4) == std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint64_t seed = 0xa4093822299f31d0;
  const std::vector<std::uint32_t> bits = bits_of(seed, {3, 7}, 21);
  for (std::uint32_t i = 0; i < 21; ++i) {
    CHECK(bits[i] == philox({i / 4, 0, 0, 0}, static_cast<std::uint32_t>(seed), seed >> 32)[i % 4]);
  }
}

TEST_CASE("random_uniform is below 1, and its mean and variance are those of a uniform distribution") {
  constexpr std::int64_t kCount = 1 << 16;
  GraphBuilder graph;
  graph.output("y", random_uniform(graph.input("seed", DType::kU64, {}), {kCount}));
  Session session = Session::create(compile(graph.finish().value()).value()).value();
  std::vector<float> y(kCount);
  REQUIRE(session.run({bind(std::uint64_t{7})}, {bind(y)}).ok());
  double sum = 0, squares = 0;
  for (const float value : y) {
    REQUIRE((value >= 0 && value < 1));
    sum += value;
    squares += double{value} * value;
  }
  CHECK(std::fabs(sum / kCount - 0.5) < 5 * std::sqrt(1.0 / 12 / kCount));
  CHECK(std::fabs(squares / kCount - 1.0 / 3) < 5 * std::sqrt(4.0 / 45 / kCount));
}

TEST_CASE("multinomial draws each index as often as its probability says") {
  constexpr std::int64_t kSamples = 1 << 15;
  const Values probability = {0.5, 0.25, 0.125, 0.125};
  GraphBuilder graph;
  std::vector<float> logits(8, -INFINITY);
  for (std::size_t i = 0; i < 4; ++i) logits[i] = static_cast<float>(std::log(probability[i]) + 3);
  logits[4] = 0;
  graph.output("y", multinomial(graph.constant({2, 4}, logits), graph.input("seed", DType::kU64, {}), kSamples));
  Session session = Session::create(compile(graph.finish().value()).value()).value();
  std::vector<std::int64_t> y(2 * kSamples);
  REQUIRE(session.run({bind(std::uint64_t{3})}, {bind(y)}).ok());
  for (std::size_t index = 0; index < 4; ++index) {
    const auto found =
        static_cast<double>(std::count(y.begin(), y.begin() + kSamples, static_cast<std::int64_t>(index)));
    const double p = probability[index];
    CHECK(std::fabs(found / kSamples - p) < 5 * std::sqrt(p * (1 - p) / kSamples));
  }
  CHECK(std::count(y.begin() + kSamples, y.end(), 0) == kSamples);
}

TEST_CASE("multinomial never draws an impossible index, whatever the bits") {
  // Under this seed, element 1 has the greatest of all random numbers.
  const std::uint64_t seed = 17845651;
  REQUIRE(bits_of(seed, {4}, 4)[1] >= 0xffffff00u);
  GraphBuilder graph;
  const std::vector<float> logits{0, -INFINITY, 0, 0};
  graph.output("y", multinomial(graph.constant({4}, logits), graph.input("seed", DType::kU64, {}), 1));
  Session session = Session::create(compile(graph.finish().value()).value()).value();
  std::int64_t y = 0;
  REQUIRE(session.run({bind(seed)}, {bind(y)}).ok());
  CHECK(y != 1);
}

}  // namespace
}  // namespace millrace
