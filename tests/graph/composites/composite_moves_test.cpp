// SPDX-License-Identifier: Apache-2.0
// Composites that move, contract and quantize, against their definitions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "tests/graph/composites/composed.h"

namespace millrace {
namespace {

using test::Composed;
using Values = std::vector<double>;

Values counting(std::size_t count) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i);
  return values;
}

TEST_CASE("one_hot is 1 where the index is, and 0 everywhere for an index outside") {
  const Values y =
      Composed().with("i", {4}, {1, 0, 3, -1}, DType::kI32).run([](Composed& c) { return one_hot(c["i"], 3); });
  CHECK(y == Values{0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("one_hot counts beyond the range of its indices' dtype") {
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    const Values y = Composed().with("i", {2}, {5, dtype == DType::kI8 ? -1.0 : 255.0}, dtype).run([](Composed& c) {
      return one_hot(c["i"], 300);
    });
    for (std::size_t i = 0; i < 600; ++i) CHECK(y[i] == (i == 5 || (dtype == DType::kU8 && i == 555) ? 1 : 0));
  }
}

TEST_CASE("trilu keeps one side of a diagonal") {
  const auto of = [](bool upper, std::int64_t diagonal) {
    return Composed().with("x", {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}).run([&](Composed& c) {
      return trilu(c["x"], upper, diagonal);
    });
  };
  CHECK(of(true, 0) == Values{1, 2, 3, 0, 5, 6, 0, 0, 9});
  CHECK(of(true, 1) == Values{0, 2, 3, 0, 0, 6, 0, 0, 0});
  CHECK(of(false, 0) == Values{1, 0, 0, 4, 5, 0, 7, 8, 9});
  CHECK(of(false, -1) == Values{0, 0, 0, 4, 0, 0, 7, 8, 0});
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  CHECK(of(true, kMax) == Values(9, 0));
  CHECK(of(false, -kMax - 1) == Values(9, 0));
  CHECK(of(true, -kMax) == Values{1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("gather_nd takes the elements that indices over several axes name") {
  const auto of = [](const reference::Extents& extents, const Values& indices) {
    return Composed().with("x", {2, 3, 2}, counting(12)).with("i", extents, indices, DType::kI64).run([](Composed& c) {
      return gather_nd(c["x"], c["i"]);
    });
  };
  CHECK(of({3, 2}, {0, 0, 1, 2, -1, -2}) == Values{0, 1, 10, 11, 8, 9});
  CHECK(of({2, 3}, {1, 1, 1, 0, -1, 0}) == Values{9, 4});
  CHECK(of({2, 1}, {1, 0}) == Values{6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5});
}

TEST_CASE("gather_nd and one_hot at sizes that a run binds") {
  const SizeExpr rows = Dim("rows"), columns = Dim("columns"), n = Dim("n");
  const Values gathered = Composed()
                              .with("x", {2, 3}, counting(6), DType::kF32, {rows, columns})
                              .with("i", {3, 2}, {1, 1, 0, -1, -1, 0}, DType::kI32, {n, 2})
                              .run([](Composed& c) { return gather_nd(c["x"], c["i"]); });
  CHECK(gathered == Values{4, 2, 3});
  const Values marked = Composed()
                            .with("x", {2, 3}, counting(6), DType::kF32, {rows, columns})
                            .with("i", {2}, {2, 0}, DType::kI64, {n})
                            .run([&](Composed& c) { return one_hot(c["i"], columns); });
  CHECK(marked == Values{0, 0, 1, 1, 0, 0});
}

TEST_CASE("a component of an index that is outside its own axis is an error from the run") {
  for (const Values& indices : {Values{0, 3}, Values{-3, 0}, Values{2, 0}, Values{0, -4}}) {
    const std::string failure =
        Composed().with("x", {2, 3}, counting(6)).with("i", {1, 2}, indices, DType::kI32).failure([](Composed& c) {
          return gather_nd(c["x"], c["i"]);
        });
    CHECK(failure.find("index") != std::string::npos);
  }
}

TEST_CASE("resize takes the nearest point, or the line between two") {
  const auto of = [](std::int64_t from, SizeExpr to, ResizeMode mode, ResizeCoordinates coordinates) {
    Values x = counting(static_cast<std::size_t>(from));
    return Composed().with("x", {from}, x).run([&](Composed& c) {
      return resize(c["x"], {0}, {to}, mode, coordinates);
    });
  };
  const auto nearest = ResizeMode::kNearest, linear = ResizeMode::kLinear;
  CHECK(of(2, 4, nearest, ResizeCoordinates::kAsymmetric) == Values{0, 0, 1, 1});
  CHECK(of(3, 6, nearest, ResizeCoordinates::kHalfPixel) == Values{0, 0, 1, 1, 2, 2});
  CHECK(of(5, 3, nearest, ResizeCoordinates::kAlignCorners) == Values{0, 2, 4});
  CHECK(of(2, 4, linear, ResizeCoordinates::kHalfPixel) == Values{0, 0.25, 0.75, 1});
  CHECK(of(3, 5, linear, ResizeCoordinates::kAlignCorners) == Values{0, 0.5, 1, 1.5, 2});
  CHECK(of(2, 4, linear, ResizeCoordinates::kAsymmetric) == Values{0, 0.5, 1, 1});
  CHECK(of(4, 1, linear, ResizeCoordinates::kAlignCorners) == Values{0});
}

/// Where result point i of `to` is among `from` points, in this order: the point before it and the share of the next.
std::pair<std::int64_t, long double> place_of(std::int64_t i, std::int64_t from, std::int64_t to,
                                              ResizeCoordinates coordinates) {
  std::int64_t dividend = i * from, divisor = to;
  if (coordinates == ResizeCoordinates::kHalfPixel) dividend = (2 * i + 1) * from - to, divisor = 2 * to;
  if (coordinates == ResizeCoordinates::kAlignCorners)
    dividend = i * (from - 1), divisor = std::max(to - 1, std::int64_t{1});
  dividend = std::clamp<std::int64_t>(dividend, 0, (from - 1) * divisor);
  return {dividend / divisor, static_cast<long double>(dividend % divisor) / static_cast<long double>(divisor)};
}

TEST_CASE("linear resize of f64 keeps the precision of f64, however far from the first point") {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> unit(0.5, 1);
  for (const auto& [from, to] : {std::pair<std::int64_t, std::int64_t>{1000, 1777},
                                 {777, 1000},
                                 {1000, 333},
                                 {3, 1001},
                                 {65'537, 65'536},
                                 {2, 1},
                                 {1, 5}}) {
    Values x;
    // Alternating signs: neighbours cancel, so that a loss in one share shows.
    for (std::int64_t i = 0; i < from; ++i) x.push_back(i % 2 == 0 ? unit(random) : -unit(random));
    for (const auto coordinates :
         {ResizeCoordinates::kHalfPixel, ResizeCoordinates::kAlignCorners, ResizeCoordinates::kAsymmetric}) {
      const Values y = Composed().with("x", {from}, x, DType::kF64).run([&](Composed& c) {
        return resize(c["x"], {0}, {to}, ResizeMode::kLinear, coordinates);
      });
      double worst = 0;
      for (std::int64_t i = 0; i < to; ++i) {
        const auto [below, share] = place_of(i, from, to, coordinates);
        const auto at = [&](std::int64_t place) {
          return static_cast<long double>(x[static_cast<std::size_t>(std::min(place, from - 1))]);
        };
        const long double exact = at(below) * (1 - share) + at(below + 1) * share;
        worst = std::max(
            worst, static_cast<double>(std::fabs(static_cast<long double>(y[static_cast<std::size_t>(i)]) - exact)));
      }
      CAPTURE(from);
      CAPTURE(to);
      CAPTURE(static_cast<int>(coordinates));
      CHECK(worst <= 0x1p-52);  // four roundings of numbers below 1
    }
  }
}

TEST_CASE("a point that resize meets exactly keeps its value next to an infinity") {
  const double inf = std::numeric_limits<double>::infinity();
  const Values y = Composed().with("x", {3}, {1, inf, 3}).run([](Composed& c) {
    return resize(c["x"], {0}, {5}, ResizeMode::kLinear, ResizeCoordinates::kAlignCorners);
  });
  CHECK(y == Values{1, inf, inf, inf, 3});
}

TEST_CASE("resize of two axes, at sizes that a run binds") {
  const SizeExpr h = Dim("h").at_least(1), w = Dim("w").at_least(1);
  const Values y = Composed().with("x", {1, 2, 2}, {0, 1, 2, 3}, DType::kF32, {1, h, w}).run([&](Composed& c) {
    return resize(c["x"], {1, 2}, {h * 2, w * 2}, ResizeMode::kLinear);
  });
  CHECK(y == Values{0, 0.25, 0.75, 1, 0.5, 0.75, 1.25, 1.5, 1.5, 1.75, 2.25, 2.5, 2, 2.25, 2.75, 3});
}

TEST_CASE("conv1d is a convolution along one dim") {
  const Values y = Composed().with("x", {1, 1, 5}, {1, 2, 3, 4, 5}).with("w", {1, 1, 2}, {1, 10}).run([](Composed& c) {
    return conv1d(c["x"], c["w"], {.stride = 2, .padding_low = 1, .padding_high = 1, .dilation = 2});
  });
  // Positions 0, 2, 4 of 0 1 2 3 4 5 0.
  CHECK(y == Values{20, 42, 4});
}

TEST_CASE("a convolution takes a bias for each filter") {
  const Values x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w = {1, 0, 0, 1, 0, 1, 1, 0}, b = {100, -100};
  const Values two =
      Composed().with("x", {1, 1, 3, 3}, x).with("w", {2, 1, 2, 2}, w).with("b", {2}, b).run([](Composed& c) {
        return conv2d(c["x"], c["w"], c["b"]);
      });
  CHECK(two == Values{106, 108, 112, 114, -94, -92, -88, -86});
  const SizeExpr n = Dim("n").at_least(1);
  const Values one = Composed()
                         .with("x", {2, 1, 3}, {1, 2, 3, 4, 5, 6}, DType::kF32, {n, 1, 3})
                         .with("w", {2, 1, 2}, {1, 10, 10, 1})
                         .with("b", {2}, {0.5, 0})
                         .run([](Composed& c) { return conv1d(c["x"], c["w"], c["b"], {.stride = 1}); });
  CHECK(one == Values{21.5, 32.5, 12, 23, 54.5, 65.5, 45, 56});
}

TEST_CASE("quantize_linear rounds half to even and saturates; dequantize_linear inverts it") {
  const Values x = {-300, -1.5, -0.5, 0, 0.25, 0.75, 1.25, 300};
  const Values y =
      Composed().with("x", {8}, x).with("s", {}, {0.5}).with("z", {}, {3}, DType::kI8).run([](Composed& c) {
        return quantize_linear(c["x"], c["s"], c["z"]);
      });
  CHECK(y == Values{-128, 0, 2, 3, 3, 5, 5, 127});
  const Values back = Composed()
                          .with("x", {2, 3}, {0, 1, 255, 7, 8, 9}, DType::kU8)
                          .with("s", {2}, {0.5, 2})
                          .with("z", {2}, {128, 7}, DType::kU8)
                          .run([](Composed& c) { return dequantize_linear(c["x"], c["s"], c["z"], 0); });
  CHECK(back == Values{-64, -63.5, 63.5, 0, 2, 4});
}

TEST_CASE("einsum sums products over the letters that the result lacks") {
  const Values a = {1, 2, 3, 4, 5, 6}, b = {1, -1, 2, 0, 3, 1};
  const auto of = [&](const char* equation, const reference::Extents& y_extents) {
    return Composed().with("a", {2, 3}, a).with("b", y_extents, b).run([&](Composed& c) {
      return einsum(equation, std::vector{c["a"], c["b"]});
    });
  };
  CHECK(of("ij,jk->ik", {3, 2}) == Values{14, 2, 32, 2});
  CHECK(of("ij, jk -> ki", {3, 2}) == Values{14, 32, 2, 2});
  CHECK(of("ij,ij->i", {2, 3}) == Values{5, 21});
  CHECK(of("ij,ij->", {2, 3}) == Values{26});
  CHECK(of("ij,kl->jl", {2, 3}) == Values{5, 10, 15, 7, 14, 21, 9, 18, 27});
  const Values one =
      Composed().with("a", {2, 3}, a).run([](Composed& c) { return einsum("ij->j", std::vector{c["a"]}); });
  CHECK(one == Values{5, 7, 9});
  const Values three =
      Composed().with("a", {2, 3}, a).with("b", {3}, {1, 0, 2}).with("c", {2}, {1, 10}).run([](Composed& c) {
        return einsum("ij,j,i->i", std::vector{c["a"], c["b"], c["c"]});
      });
  CHECK(three == Values{7, 160});
}

TEST_CASE("attention weighs values by the softmax of scores, with a mask of either kind") {
  const Values q = {1, 0, 0, 2}, k = {1, 1, 0, 1, -1, 2}, v = {1, 2, 3};
  const auto of = [&](DType mask_dtype, const Values& mask) {
    return Composed()
        .with("q", {2, 2}, q)
        .with("k", {3, 2}, k)
        .with("v", {3, 1}, v)
        .with("m", {2, 3}, mask, mask_dtype)
        .run([](Composed& c) { return attention(c["q"], c["k"], c["v"], c["m"]); });
  };
  const Values allowed = {1, 0, 1, 1, 1, 0};
  Values added;
  for (const double bit : allowed) added.push_back(bit != 0 ? 0 : -1e30);
  Values expected;
  for (std::size_t row = 0; row < 2; ++row) {
    double weights = 0, sum = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      const double score = (q[row * 2] * k[j * 2] + q[row * 2 + 1] * k[j * 2 + 1]) / std::sqrt(2.0);
      const double weight = allowed[row * 3 + j] * std::exp(score);
      weights += weight;
      sum += weight * v[j];
    }
    expected.push_back(sum / weights);
  }
  for (const Values& y : {of(DType::kBool, allowed), of(DType::kF32, added)}) {
    for (std::size_t i = 0; i < 2; ++i) CHECK(y[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  }
}

}  // namespace
}  // namespace millrace
