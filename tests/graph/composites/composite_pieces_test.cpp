// SPDX-License-Identifier: Apache-2.0
// Composites that cut, join, mirror and move, against plain loops; and NumPy's broadcasting in functions of two.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <doctest/doctest.h>

#include "tests/graph/composites/composed.h"

namespace millrace {
namespace {

using test::Composed;
using Values = std::vector<double>;

/// 0, 1, 2, ...
Values counted(std::size_t count) {
  Values values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST_CASE("two tensors are broadcast as in NumPy") {
  const Values sums = Composed().with("x", {2, 3}, counted(6)).with("y", {3}, {10, 20, 30}).run([](Composed& c) {
    return c["x"] + c["y"];
  });
  CHECK(sums == Values{10, 21, 32, 13, 24, 35});
  const Values table = Composed().with("x", {2, 1}, {1, 2}).with("y", {3}, {3, 4, 5}).run([](Composed& c) {
    return max(c["x"] * c["y"], 5);
  });
  CHECK(table == Values{5, 5, 5, 6, 8, 10});
  const Values halves = Composed().with("x", {}, {8}).with("y", {2}, {2, 4}).run([](Composed& c) {
    Tensor z = c["y"];
    z += c["x"];
    z -= 1;
    z *= 2.0;
    z /= c["y"];
    return z;
  });
  CHECK(halves == Values{9, 5.5});
}

TEST_CASE("a symbol is broadcast over by 1, and equals itself") {
  const SizeExpr rows = Dim("rows");
  const Values y = Composed()
                       .with("x", {2, 3}, counted(6), DType::kF32, {rows, 3})
                       .with("s", {2, 1}, {10, 20}, DType::kF32, {rows, 1})
                       .run([](Composed& c) { return c["x"] - c["s"]; });
  CHECK(y == Values{-10, -9, -8, -17, -16, -15});
}

TEST_CASE("an integer that no double holds stays exact in arithmetic with 64-bit integers") {
  GraphBuilder graph;
  const std::uint64_t large = (std::uint64_t{1} << 63) + 1;
  graph.output("y", graph.input("x", DType::kU64, {}) + large);
  Session session = Session::create(compile(graph.finish().value()).value()).value();
  std::uint64_t y = 0;
  REQUIRE(session.run({bind(std::uint64_t{1})}, {bind(y)}).ok());
  CHECK(y == large + 1);
}

TEST_CASE("matmul takes vectors, and broadcasts batches") {
  const Values m = {1, 2, 3, 4, 5, 6};  // 2 x 3
  const auto of = [](const reference::Extents& x_extents, const Values& x, const reference::Extents& y_extents,
                     const Values& y) {
    return Composed().with("x", x_extents, x).with("y", y_extents, y).run([](Composed& c) {
      return matmul(c["x"], c["y"]);
    });
  };
  CHECK(of({3}, {1, 0, 2}, {3}, {4, 5, 6}) == Values{16});
  CHECK(of({2, 3}, m, {3}, {1, 0, 2}) == Values{7, 16});
  CHECK(of({2}, {1, 10}, {2, 3}, m) == Values{41, 52, 63});
  CHECK(of({2}, {1, 10}, {2, 2, 1}, {1, 2, 3, 4}) == Values{21, 43});
  CHECK(of({2, 1, 2}, {1, 2, 3, 4}, {2, 1}, {1, 10}) == Values{21, 43});
  CHECK(of({1, 2}, {1, 10}, {2, 2, 1}, {1, 2, 3, 4}) == Values{21, 43});
  CHECK(of({2, 1, 1, 2}, {1, 10, 2, 20}, {1, 2, 2, 1}, {1, 2, 3, 4}) == Values{21, 43, 42, 86});
}

TEST_CASE("split undoes concat, and unsqueeze and squeeze undo each other") {
  const Values x = counted(12);
  const Values parts = Composed().with("x", {2, 6}, x).run([](Composed& c) {
    const std::vector<Tensor> part = split(c["x"], std::vector<SizeExpr>{1, 3, 2}, -1);
    return concat({part[1], part[0], part[2]}, 1);
  });
  CHECK(parts == Values{1, 2, 3, 0, 4, 5, 7, 8, 9, 6, 10, 11});
  const Values thirds = Composed().with("x", {2, 6}, x).run([](Composed& c) {
    const std::vector<Tensor> part = split_evenly(c["x"], 3, 1);
    return part[2] - part[0];
  });
  CHECK(thirds == Values{4, 4, 4, 4});
  const Values same = Composed().with("x", {2, 6}, x).run([](Composed& c) {
    const Tensor wide = unsqueeze(c["x"], {0, -1});
    CHECK(wide.shape() == Shape{1, 2, 6, 1});
    return squeeze(wide, {-1, 0});
  });
  CHECK(same == x);
}

TEST_CASE("stack makes a new axis, at the end too") {
  const auto of = [](std::int64_t axis) {
    return Composed().with("x", {2}, {1, 2}).with("y", {2}, {3, 4}).run([axis](Composed& c) {
      return stack({c["x"], c["y"]}, axis);
    });
  };
  CHECK(of(0) == Values{1, 2, 3, 4});
  CHECK(of(-1) == Values{1, 3, 2, 4});
}

TEST_CASE("tile repeats, at sizes that a run binds too") {
  const SizeExpr n = Dim("n");
  const auto tiled = [](Composed& c) { return tile(c["x"], {2, 3}); };
  const Values expected = {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3};
  CHECK(Composed().with("x", {2, 2}, counted(4)).run(tiled) == expected);
  CHECK(Composed().with("x", {2, 2}, counted(4), DType::kF32, {n, 2}).run(tiled) == expected);
}

TEST_CASE("flip reverses each axis that it names") {
  const auto of = [](std::vector<std::int64_t> axes, Shape shape) {
    return Composed().with("x", {2, 3}, counted(6), DType::kF32, shape).run([&](Composed& c) {
      return flip(c["x"], axes);
    });
  };
  CHECK(of({0}, {}) == Values{3, 4, 5, 0, 1, 2});
  CHECK(of({-1}, {Dim("n"), Dim("m")}) == Values{2, 1, 0, 5, 4, 3});
  CHECK(of({0, 1}, {}) == Values{5, 4, 3, 2, 1, 0});
}

TEST_CASE("roll is a rotation, for shifts beyond the length and below 0 too") {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t shift : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4}, std::int64_t{5}, std::int64_t{12},
                                   std::int64_t{-1}, std::int64_t{-7}, kMin, -(kMin + 1)}) {
    for (const bool is_symbolic : {false, true}) {
      const Values y = Composed()
                           .with("x", {5, 2}, counted(10), DType::kF32, is_symbolic ? Shape{Dim("n"), 2} : Shape{})
                           .run([&](Composed& c) { return roll(c["x"], shift, 0); });
      for (std::int64_t row = 0; row < 5; ++row) {
        const auto from = static_cast<double>(((row - shift % 5) % 5 + 5) % 5);
        CHECK(y[static_cast<std::size_t>(2 * row)] == 2 * from);
        CHECK(y[static_cast<std::size_t>(2 * row + 1)] == 2 * from + 1);
      }
    }
  }
}

TEST_CASE("pad_reflect mirrors at the outermost element, and pad_edge repeats it") {
  const auto of = [](auto pad, Shape shape) {
    return Composed().with("x", {4}, {1, 2, 3, 4}, DType::kF32, shape).run([&](Composed& c) {
      return pad(c["x"], {3}, {2});
    });
  };
  for (const Shape& shape : {Shape{}, Shape{Dim("n")}}) {
    CHECK(of(pad_reflect, shape) == Values{4, 3, 2, 1, 2, 3, 4, 3, 2});
    CHECK(of(pad_edge, shape) == Values{1, 1, 1, 1, 2, 3, 4, 4, 4});
  }
  const Values corner =
      Composed().with("x", {2, 2}, {1, 2, 3, 4}).run([](Composed& c) { return pad_reflect(c["x"], {1, 0}, {0, 1}); });
  CHECK(corner == Values{3, 4, 3, 1, 2, 1, 3, 4, 3});
}

TEST_CASE("a reflection longer than the part that it mirrors is an error of the run, on either side") {
  const auto message = [](std::int64_t low, std::int64_t high) {
    Composed c;
    c.with("x", {3}, {1, 2, 3}, DType::kF32, {Dim("n")});
    return c.failure([&](Composed& given) { return pad_reflect(given["x"], {low}, {high}); });
  };
  for (const auto& [low, high] : {std::pair(0, 3), std::pair(3, 0), std::pair(7, 0)}) {
    CHECK(message(low, high) == "run: pad_reflect: dim 0 of f32[n] is padded by " + std::to_string(low) + " and " +
                                    std::to_string(high) +
                                    ", expected less than its extent on each side with n = 3; pad in steps");
  }
}

TEST_CASE("a dim that a run makes empty cannot be padded by its outermost element") {
  Composed c;
  c.with("x", {0, 2}, {}, DType::kF32, {Dim("n"), 2});
  CHECK(c.failure([&](Composed& given) { return pad_edge(given["x"], {1, 0}, {0, 0}); }) ==
        "run: pad_edge: dim 0 of f32[n, 2] is padded by 1 and 0, expected an extent of 1 or more with n = 0; first "
        "pad it with a number");
}

TEST_CASE("depth_to_space puts channels side by side, and space_to_depth undoes it") {
  const Values x = counted(1 * 8 * 1 * 2);
  const auto of = [&](DepthOrder order) {
    return Composed().with("x", {1, 8, 1, 2}, x).run([&](Composed& c) { return depth_to_space(c["x"], 2, order); });
  };
  // By ONNX's definition, element by element: 2 channels of 2 x 4 points.
  for (const DepthOrder order : {DepthOrder::kBlockFirst, DepthOrder::kChannelFirst}) {
    const Values y = of(order);
    for (std::size_t channel = 0; channel < 2; ++channel) {
      for (std::size_t row = 0; row < 2; ++row) {
        for (std::size_t column = 0; column < 4; ++column) {
          const std::size_t block = row * 2 + column % 2;
          const std::size_t from = order == DepthOrder::kBlockFirst ? block * 2 + channel : channel * 4 + block;
          CHECK(y[(channel * 2 + row) * 4 + column] == x[from * 2 + column / 2]);
        }
      }
    }
  }
  const Values back = Composed().with("x", {1, 8, 1, 2}, x).run([](Composed& c) {
    return space_to_depth(depth_to_space(c["x"], 2), 2);
  });
  CHECK(back == x);
}

TEST_CASE("scatter_elements replaces the element that each index names along the axis") {
  const Values y = Composed()
                       .with("x", {2, 3}, counted(6))
                       .with("i", {2, 2}, {2, 0, -1, 1}, DType::kI32)
                       .with("u", {2, 2}, {20, 30, 40, 50})
                       .run([](Composed& c) { return scatter_elements(c["x"], c["i"], c["u"], 1); });
  CHECK(y == Values{30, 1, 20, 3, 50, 40});
}

TEST_CASE("an index of scatter_elements outside its axis is an error, even inside the tensor") {
  Composed c;
  c.with("x", {2, 3}, counted(6)).with("i", {2, 1}, {3, 0}, DType::kI32).with("u", {2, 1}, {7, 8});
  CHECK(c.failure([](Composed& given) { return scatter_elements(given["x"], given["i"], given["u"], 1); }) ==
        "run: scatter_elements: an index of operand 1, i32[2x1], is outside axis 1 of operand 0, f32[2x3]; give -3 to "
        "2");
}

TEST_CASE("pools of one dim, and of all dims after the channels") {
  const Values x = {1, 5, 2, 8, 3, 3, 9, 4};
  const Pool1dAttributes attributes{.window = 3, .stride = 2, .padding_low = 1, .padding_high = 1};
  CHECK(Composed().with("x", {1, 1, 8}, x).run([&](Composed& c) { return max_pool1d(c["x"], attributes); }) ==
        Values{5, 8, 8, 9});
  CHECK(Composed().with("x", {1, 1, 8}, x).run([&](Composed& c) { return avg_pool1d(c["x"], attributes); })[0] == 3);
  CHECK(Composed().with("x", {1, 2, 2, 2}, x).run([](Composed& c) { return global_max_pool(c["x"]); }) == Values{8, 9});
  CHECK(Composed().with("x", {1, 2, 4}, x).run([](Composed& c) { return global_avg_pool(c["x"]); }) == Values{4, 4.75});
}

}  // namespace
}  // namespace millrace
