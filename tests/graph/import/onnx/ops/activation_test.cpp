// SPDX-License-Identifier: Apache-2.0
// Activations and arithmetic: what differs between versions and dtypes, and what is refused.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/graph/import/onnx/ops/one_node.h"

namespace millrace::test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;
using Ints = std::vector<std::int32_t>;

constexpr std::int64_t kOnnxInt32 = 6, kOnnxDouble = 11;

/// The elements of the result for x, and y if it is given, as operands.
template <class T, class U = T>
std::vector<T> apply(TestNode node, std::int64_t type, const std::vector<T>& x, const std::vector<U>& y = {},
                     std::int64_t version = 18) {
  const auto count = static_cast<std::int64_t>(x.size());
  OneNode model{std::move(node), {onnx_value("x", type, {count})}, {}, version};
  std::vector<reference::Tensor> inputs = {tensor_of({count}, x)};
  if (!y.empty()) {
    model.inputs.push_back(onnx_value("y", std::is_same_v<T, U> ? type : kOnnxInt64, {count}));
    inputs.push_back(tensor_of({count}, y));
  }
  const reference::Tensor result = run_node(model, inputs)[0];
  REQUIRE(result.type.dtype == dtype_of<T>);
  return reference::read_all<T>(result);
}

TEST_CASE("Clip has its limits as attributes, and from version 11 on as operands") {
  const Floats x = {-3, 0.5, 4};
  const TestNode old{"Clip", {"x"}, {"z"}, {onnx_float("min", -1), onnx_float("max", 2)}};
  CHECK(apply<float>(old, kOnnxFloat, x, {}, 6) == Floats{-1, 0.5, 2});
  CHECK(apply<float>({"Clip", {"x"}, {"z"}}, kOnnxFloat, x, {}, 6) == x);
  // The limits by default are numbers, except in the first version.
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kMax = std::numeric_limits<float>::max();
  CHECK(apply<float>({"Clip", {"x"}, {"z"}}, kOnnxFloat, Floats{kInfinity, -kInfinity}, {}, 6) == Floats{kMax, -kMax});
  CHECK(apply<float>({"Clip", {"x"}, {"z"}}, kOnnxFloat, Floats{kInfinity}, {}, 5) == Floats{kInfinity});
  OneNode model{{"Clip", {"x", "low", "high"}, {"z"}},
                {onnx_value("x", kOnnxFloat, {3})},
                {onnx_tensor("low", {1}, Floats{5}), onnx_tensor("high", {}, Floats{1})}};
  // The upper limit counts where they cross.
  CHECK(reference::read_all<float>(run_node(model, {tensor_of({3}, x)})[0]) == Floats{1, 1, 1});
  model.constants = {onnx_tensor("low", {2}, Floats{5, 6}), onnx_tensor("high", {}, Floats{1})};
  CHECK(refusal(model) == ".input[1] ('low'): is f32[2], expected a scalar");
}

TEST_CASE("HardSwish is NaN for -inf, as the product is that defines it") {
  const Floats y = apply<float>({"HardSwish", {"x"}, {"z"}}, kOnnxFloat,
                                Floats{-std::numeric_limits<float>::infinity(), -4, 1.5f, 5});
  CHECK(std::isnan(y[0]));
  CHECK(Floats(y.begin() + 1, y.end()) == Floats{0, 1.125f, 5});
}

TEST_CASE("Pow of integers is exact") {
  const Integers x = {2, -3, -1, 5, 0, -1, 3, 7, -1, 1, 2};
  const Integers y = {62, 3, -5, -1, 0, (std::int64_t{1} << 40) + 1, 39, 1, 64, -64, -1};
  CHECK(apply({"Pow", {"x", "y"}, {"z"}}, kOnnxInt64, x, y) ==
        Integers{std::int64_t{1} << 62, -27, -1, 0, 1, -1, 4052555153018976267, 7, 1, 1, 0});
}

/// x^y for a y of 0 or more, modulo 2^64.
std::uint64_t power_of(std::int64_t x, std::int64_t y) {
  std::uint64_t power = 1;
  for (std::int64_t i = 0; i < y; ++i) power *= static_cast<std::uint64_t>(x);
  return power;
}

TEST_CASE("Pow of integers wraps") {
  const Integers x = {3, 3, -3, 7, 10, -7, 2, 2, -2, 1000003, 15};
  const Integers y = {39, 41, 41, 63, 20, 62, 62, 63, 63, 5, 21};
  Integers wide;
  Ints narrow, small;
  for (std::size_t i = 0; i < x.size(); ++i) {
    wide.push_back(static_cast<std::int64_t>(power_of(x[i], y[i])));
    narrow.push_back(static_cast<std::int32_t>(power_of(x[i], y[i])));
    small.push_back(static_cast<std::int32_t>(x[i]));
  }
  CHECK(apply({"Pow", {"x", "y"}, {"z"}}, kOnnxInt64, x, y) == wide);
  CHECK(apply({"Pow", {"x", "y"}, {"z"}}, kOnnxInt32, small, y) == narrow);
  // 46341^2 is 2147488281. The exponent 2 is known.
  const OneNode square{
      {"Pow", {"x", "two"}, {"z"}}, {onnx_value("x", kOnnxInt32, {3})}, {onnx_tensor("two", {}, Integers{2})}};
  CHECK(reference::read_all<std::int32_t>(run_node(square, {tensor_of({3}, Ints{65536, 46341, -46341})})[0]) ==
        Ints{0, -2147479015, -2147479015});
}

TEST_CASE("Gemm of integers has whole factors, and is exact") {
  const auto product = [](std::int64_t type, float alpha, float beta, std::int64_t x, std::int64_t y, std::int64_t c) {
    const auto number = [&](std::int64_t value) {
      return type == kOnnxInt64 ? tensor_of({1, 1}, Integers{value})
                                : tensor_of({1, 1}, Ints{static_cast<std::int32_t>(value)});
    };
    const OneNode model{{"Gemm", {"x", "y", "c"}, {"z"}, {onnx_float("alpha", alpha), onnx_float("beta", beta)}},
                        {onnx_value("x", type, {1, 1}), onnx_value("y", type, {1, 1}), onnx_value("c", type, {1, 1})}};
    if (const std::string refused = refusal(model); refused != "imported") return refused;
    return std::to_string(reference::read_all<std::int64_t>(run_node(model, {number(x), number(y), number(c)})[0])[0]);
  };
  CHECK(product(kOnnxInt32, 2, -3, 100003, 1001, 7) == std::to_string(2 * 100003 * 1001 - 21));
  constexpr std::int64_t kBig = (std::int64_t{1} << 55) + 1;  // no double holds it
  CHECK(product(kOnnxInt64, 3, 2, kBig, 5, kBig) == std::to_string(17 * kBig));
  CHECK(product(kOnnxInt32, 0, 0, 3, 5, 7) == "0");
  CHECK(product(kOnnxInt32, 0.5F, 1, 1, 1, 1) == ": scales i32 by 0.5 and 1, expected whole numbers");
  CHECK(product(kOnnxInt64, 1, 0x1p60F, 1, 1, 1) ==
        ": scales i64 by 1 and 1.152921504606847e+18, expected whole numbers");
}

TEST_CASE("Pow has the dtype of the base, and rounds once") {
  // (1 + 2^-23)^(2^24 + 1): as an f32, the exponent would be 2^24.
  const Floats x = {1 + 0x1p-23F, -2};
  const Integers y = {(1 << 24) + 1, 3};
  const Floats z = apply({"Pow", {"x", "y"}, {"z"}}, kOnnxFloat, x, y);
  CHECK(z[0] == static_cast<float>(std::pow(double{x[0]}, static_cast<double>(y[0]))));
  CHECK(z[1] == -8);
}

TEST_CASE("a square is exact") {
  const OneNode model{
      {"Pow", {"x", "two"}, {"z"}}, {onnx_value("x", kOnnxFloat, {3})}, {onnx_tensor("two", {}, Integers{2})}};
  const Floats x = {-3, 0x1.000002p0F, 1e30F};
  CHECK(reference::read_all<float>(run_node(model, {tensor_of({3}, x)})[0]) ==
        Floats{9, x[1] * x[1], std::numeric_limits<float>::infinity()});
}

TEST_CASE("BitShift moves the bits of signed integers, and all of them out") {
  const TestNode right{"BitShift", {"x", "y"}, {"z"}, {onnx_text("direction", "RIGHT")}};
  const TestNode left{"BitShift", {"x", "y"}, {"z"}, {onnx_text("direction", "LEFT")}};
  CHECK(apply(right, kOnnxInt32, Ints{-7, -8, 7, -1, 5, -5, std::numeric_limits<std::int32_t>::min()},
              Ints{1, 2, 1, 31, 32, 33, 31}) == Ints{-4, -2, 3, -1, 0, -1, -1});
  CHECK(apply(left, kOnnxInt32, Ints{1, -1, 3, 3, -5}, Ints{31, 31, 32, 4, -1}) ==
        Ints{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::min(), 0, 48, 0});
  const OneNode model{{"BitShift", {"x", "x"}, {"z"}, {onnx_text("direction", "UP")}},
                      {onnx_value("x", kOnnxInt32, {2})}};
  CHECK(refusal(model) == ".attribute 'direction': found 'UP', expected LEFT or RIGHT");
  const OneNode floats{{"BitShift", {"x", "x"}, {"z"}, {onnx_text("direction", "LEFT")}},
                       {onnx_value("x", kOnnxFloat, {2})}};
  CHECK(refusal(floats) == ".input[0] ('x'): is f32[2], expected integers");
}

TEST_CASE("Mod has the sign of the divisor, or of the dividend") {
  const Ints x = {7, -7, 7, -7, 6}, y = {3, 3, -3, -3, -3};
  CHECK(apply({"Mod", {"x", "y"}, {"z"}}, kOnnxInt32, x, y) == Ints{1, 2, -2, -1, 0});
  CHECK(apply({"Mod", {"x", "y"}, {"z"}, {onnx_int("fmod", 1)}}, kOnnxInt32, x, y) == Ints{1, -1, 1, -1, 0});
  const OneNode model{{"Mod", {"x", "x"}, {"z"}}, {onnx_value("x", kOnnxFloat, {2})}};
  CHECK(refusal(model) == ".attribute 'fmod': found 0, expected 1 for floats before version 28");
}

TEST_CASE("from version 28 on, Mod of floats has the sign of the divisor, even if it is 0") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Floats x = {-4.25F, 7.5F, 5, 0, -0.0F, -3, 3, 1, -1, 0}, y = {2, -3.5F, 8, -2, 2, 3, -3, -kInf, -kInf, -kInf};
  const Floats z = apply({"Mod", {"x", "y"}, {"z"}}, kOnnxFloat, x, y, 28);
  CHECK(z == Floats{1.75F, -3, 5, -0.0F, 0, 0, -0.0F, -kInf, -1, -0.0F});
  for (std::size_t i = 0; i < z.size(); ++i) CHECK(std::signbit(z[i]) == std::signbit(y[i]));
  const Floats none = apply({"Mod", {"x", "y"}, {"z"}}, kOnnxFloat, Floats{kInf, 1}, Floats{2, 0}, 28);
  CHECK(std::isnan(none[0]));
  CHECK(std::isnan(none[1]));
}

TEST_CASE("PRelu takes integers, too") {
  CHECK(apply({"PRelu", {"x", "y"}, {"z"}}, kOnnxInt32, Ints{-2, 0, 5}, Ints{3, 3, 3}) == Ints{-6, 0, 5});
}

TEST_CASE("IsInf looks for one sign, both or none") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const auto of = [&](std::int64_t negative, std::int64_t positive) {
    const OneNode model{
        {"IsInf", {"x"}, {"z"}, {onnx_int("detect_negative", negative), onnx_int("detect_positive", positive)}},
        {onnx_value("x", kOnnxFloat, {3})}};
    return reference::read_all<double>(run_node(model, {tensor_of({3}, Floats{-kInf, 1, kInf})})[0]);
  };
  CHECK(of(1, 1) == std::vector<double>{1, 0, 1});
  CHECK(of(1, 0) == std::vector<double>{1, 0, 0});
  CHECK(of(0, 1) == std::vector<double>{0, 0, 1});
  CHECK(of(0, 0) == std::vector<double>{0, 0, 0});
}

TEST_CASE("Swish and SwiGLU scale the argument of sigmoid") {
  const Floats x = {-2, 0, 3}, y = {1, 2, 3};
  const auto swish = [](double v) { return v / (1 + std::exp(-2 * v)); };
  const Floats swished = apply<float>({"Swish", {"x"}, {"z"}, {onnx_float("alpha", 2)}}, kOnnxFloat, x, {}, 24);
  const Floats gated = apply({"SwiGLU", {"x", "y"}, {"z"}, {onnx_float("alpha", 2)}}, kOnnxFloat, x, y, 28);
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(swished[i] == doctest::Approx(swish(x[i])).epsilon(1e-6));
    CHECK(gated[i] == doctest::Approx(swish(x[i]) * y[i]).epsilon(1e-6));
  }
  const OneNode model{
      {"SwiGLU", {"x", "y"}, {"z"}}, {onnx_value("x", kOnnxFloat, {2, 3}), onnx_value("y", kOnnxFloat, {3})}, {}, 28};
  CHECK(refusal(model) == ".input[1] ('y'): is f32[3], expected f32[2x3] like operand 0");
}

TEST_CASE("BitCast reads elements as another dtype, constants and those of a run") {
  OneNode model{
      {"BitCast", {"c"}, {"z"}, {onnx_int("to", kOnnxInt32)}}, {}, {onnx_tensor("c", {2}, Floats{1, -2})}, 26};
  CHECK(reference::read_all<double>(run_node(model, {})[0]) == std::vector<double>{0x3F800000, -0x40000000});
  model.node.inputs = {"x"};
  model.inputs = {onnx_value("x", kOnnxFloat, {2})};
  CHECK(reference::read_all<double>(run_node(model, {tensor_of({2}, Floats{1, -2})})[0]) ==
        std::vector<double>{0x3F800000, -0x40000000});
  model.node.attributes = {onnx_int("to", kOnnxDouble)};
  CHECK(refusal(model) == ".attribute 'to': found f64, expected a dtype as wide as f32");
}

TEST_CASE("activations name the attributes that they cannot take") {
  const auto of = [](TestNode node, std::int64_t type = kOnnxFloat, std::int64_t version = 20) {
    return refusal({std::move(node), {onnx_value("x", type, {2})}, {}, version});
  };
  CHECK(of({"Gelu", {"x"}, {"z"}, {onnx_text("approximate", "fast")}}) ==
        ".attribute 'approximate': found 'fast', expected none or tanh");
  CHECK(of({"Shrink", {"x"}, {"z"}}, kOnnxInt32) == ".input[0] ('x'): is i32[2], expected floats");
  CHECK(of({"Celu", {"x"}, {"z"}, {onnx_float("alpha", 0)}}) ==
        ": Celu: alpha is 0, expected another number; use relu");
  CHECK(of({"Max", {}, {"z"}}) == ": has no operands");
  CHECK(of({"Asin", {"x"}, {"z"}}, kOnnxInt32) == ": Asin: operand 0 is i32[2], expected a float; insert a cast");
}

}  // namespace
}  // namespace millrace::test
