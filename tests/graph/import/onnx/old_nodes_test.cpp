// SPDX-License-Identifier: Apache-2.0
// Nodes of versions 1 to 6 of the default domain, where later versions say it in another way.
#include <cmath>
#include <functional>

#include <doctest/doctest.h>

#include "tests/graph/import/onnx/ops/one_node.h"

namespace millrace::test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

MessageWriter floats(const char* name, const std::vector<TestDim>& dims) { return onnx_value(name, kOnnxFloat, dims); }

/// 1, 2, 3, ...
Floats counting(std::size_t count) {
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i + 1);
  return values;
}

std::vector<double> first_result(const OneNode& model, const std::vector<reference::Tensor>& inputs) {
  return reference::read_all<double>(run_node(model, inputs)[0]);
}

OneNode old_sub(std::vector<MessageWriter> attributes, const std::vector<TestDim>& x, const std::vector<TestDim>& y,
                std::int64_t version = 6) {
  return {{"Sub", {"x", "y"}, {"z"}, std::move(attributes)}, {floats("x", x), floats("y", y)}, {}, version};
}

TEST_CASE("before version 7, operand 1 broadcasts from an axis") {
  const Floats x = counting(24);
  const auto check = [&](std::vector<MessageWriter> attributes, const std::vector<TestDim>& dims, std::size_t size,
                         const std::function<std::size_t(std::size_t)>& place) {
    attributes.push_back(onnx_int("broadcast", 1));
    reference::Extents extents;
    for (const TestDim& dim : dims) extents.push_back(dim.value);
    Floats y(size);
    for (std::size_t i = 0; i < size; ++i) y[i] = static_cast<float>(100 * (i + 1));
    const auto z = first_result(old_sub(attributes, {2, 3, 4}, dims), {tensor_of({2, 3, 4}, x), tensor_of(extents, y)});
    REQUIRE(z.size() == 24);
    for (std::size_t i = 0; i < 24; ++i) {
      CAPTURE(i);
      CHECK(z[i] == double{x[i]} - double{y[place(i)]});
    }
  };
  check({onnx_int("axis", 0)}, {2}, 2, [](std::size_t i) { return i / 12; });
  check({onnx_int("axis", 1)}, {3}, 3, [](std::size_t i) { return i / 4 % 3; });
  check({onnx_int("axis", 0)}, {2, 3}, 6, [](std::size_t i) { return i / 4; });
  check({onnx_int("axis", 0)}, {2, 1, 4}, 8, [](std::size_t i) { return i / 12 * 4 + i % 4; });
  check({}, {3, 4}, 12, [](std::size_t i) { return i % 12; });
  check({}, {4}, 4, [](std::size_t i) { return i % 4; });
  check({}, {1, 1}, 1, [](std::size_t) { return 0; });
  check({}, {}, 1, [](std::size_t) { return 0; });
}

TEST_CASE("before version 7, operands that do not broadcast are refused") {
  const auto refused = [](std::vector<MessageWriter> attributes, const std::vector<TestDim>& x,
                          const std::vector<TestDim>& y) { return refusal(old_sub(std::move(attributes), x, y)); };
  CHECK(refused({}, {2, 3}, {3}) ==
        ".input[1] ('y'): is f32[3], expected the dims of operand 0, f32[2x3], without the attribute 'broadcast'");
  CHECK(refused({onnx_int("broadcast", 0), onnx_int("axis", 0)}, {2, 3}, {2, 1}) ==
        ".input[1] ('y'): is f32[2x1], expected the dims of operand 0, f32[2x3], without the attribute 'broadcast'");
  CHECK(refused({onnx_int("broadcast", 1)}, {3}, {2, 3}) ==
        ".input[1] ('y'): is f32[2x3], expected at most the rank of operand 0, f32[3]");
  CHECK(refused({onnx_int("broadcast", 1), onnx_int("axis", 2)}, {2, 3}, {3}) ==
        ".attribute 'axis': found 2, expected 0 to 1 for f32[2x3] and f32[3]");
  CHECK(refused({onnx_int("broadcast", 1), onnx_int("axis", -1)}, {2, 3}, {3}) ==
        ".attribute 'axis': found -1, expected 0 to 1 for f32[2x3] and f32[3]");
  CHECK(refused({onnx_int("broadcast", 1), onnx_int("axis", 0)}, {1, 3}, {2}) ==
        ".input[1] ('y'): is f32[2], expected dims of operand 0, f32[1x3], from dim 0 on");
  CHECK(refused({onnx_int("broadcast", 2)}, {2, 3}, {3}) == ".attribute 'broadcast': found 2, expected 0 or 1");
  CHECK(refusal({{"Sub", {"x", "y"}, {"z"}, {onnx_int("broadcast", 1)}}, {floats("x", {2, 3}), floats("y", {3})}}) ==
        ".attribute 'broadcast': is not an attribute of Sub in version 18");
}

TEST_CASE("before version 6, consumed_inputs is ignored; later it is refused") {
  OneNode model = old_sub({onnx_ints("consumed_inputs", {0, 0})}, {"n"}, {"n"}, 1);
  CHECK(first_result(model, {tensor_of({2}, Floats{5, 7}), tensor_of({2}, Floats{1, 4})}) == std::vector<double>{4, 3});
  model.version = 6;
  CHECK(refusal(model) == ".attribute 'consumed_inputs': is not an attribute of Sub in version 6");
}

TEST_CASE("Pow, PRelu and Gemm broadcast as before version 7") {
  const OneNode power{{"Pow", {"x", "y"}, {"z"}, {onnx_int("broadcast", 1), onnx_int("axis", 0)}},
                      {floats("x", {2, 2}), floats("y", {2})},
                      {},
                      1};
  CHECK(first_result(power, {tensor_of({2, 2}, Floats{2, 3, 4, 5}), tensor_of({2}, Floats{1, 3})}) ==
        std::vector<double>{2, 3, 64, 125});

  const auto rectify = [](const std::vector<TestDim>& x, const std::vector<TestDim>& slope) {
    return OneNode{{"PRelu", {"x", "s"}, {"y"}}, {floats("x", x), floats("s", slope)}, {}, 6};
  };
  const auto rectified = first_result(
      rectify({2, 3, 2}, {3}),
      {tensor_of({2, 3, 2}, Floats{-1, 2, -3, 4, -5, 6, -7, 8, 9, -10, 11, -12}), tensor_of({3}, Floats{2, 3, 4})});
  CHECK(rectified == std::vector<double>{-2, 2, -9, 4, -20, 6, -14, 8, 9, -30, 11, -48});
  CHECK(first_result(rectify({2, 2}, {1}), {tensor_of({2, 2}, Floats{-1, 2, -3, 4}), tensor_of({1}, Floats{2})}) ==
        std::vector<double>{-2, 2, -6, 4});
  CHECK(refusal(rectify({2, 3, 2}, {2})) ==
        ".input[1] ('s'): is f32[2], expected one element, or one per channel of f32[2x3x2]");
  CHECK(refusal(rectify({3}, {3})) == ".input[1] ('s'): is f32[3], expected one element, or one per channel of f32[3]");

  const auto multiply = [](std::vector<MessageWriter> attributes) {
    return OneNode{{"Gemm", {"x", "y", "c"}, {"z"}, std::move(attributes)},
                   {floats("x", {2, 1}), floats("y", {1, 2}), floats("c", {2})},
                   {},
                   6};
  };
  CHECK(first_result(multiply({onnx_int("broadcast", 1)}),
                     {tensor_of({2, 1}, Floats{1, 2}), tensor_of({1, 2}, Floats{3, 4}),
                      tensor_of({2}, Floats{10, 20})}) == std::vector<double>{13, 24, 16, 28});
  CHECK(refusal(multiply({})) ==
        ".input[2] ('c'): is f32[2], expected the dims of the product, f32[2x2], without the attribute 'broadcast'");
}

TEST_CASE("before version 7, BatchNormalization and Dropout must be marked as tests") {
  const auto normalize = [](std::vector<MessageWriter> attributes) {
    return OneNode{{"BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}, std::move(attributes)},
                   {floats("x", {1, 2, 1})},
                   {onnx_tensor("s", {2}, Floats{2, 3}), onnx_tensor("b", {2}, Floats{1, -1}),
                    onnx_tensor("m", {2}, Floats{5, 6}), onnx_tensor("v", {2}, Floats{4, 16})},
                   6};
  };
  const std::vector<reference::Tensor> x = {tensor_of({1, 2, 1}, Floats{7, 2})};
  CHECK(first_result(normalize({onnx_int("is_test", 1), onnx_float("epsilon", 0)}), x) == std::vector<double>{3, -4});
  CHECK(refusal(normalize({})) == ".attribute 'is_test': found 0, expected 1: training is not supported");
  CHECK(refusal(normalize({onnx_int("is_test", 1), onnx_int("spatial", 0)})) ==
        ".attribute 'spatial': found 0, expected 1: statistics per channel");

  const auto drop = [](std::vector<MessageWriter> attributes, std::int64_t version) {
    return OneNode{{"Dropout", {"x"}, {"y"}, std::move(attributes)}, {floats("x", {1, 2, 1})}, {}, version};
  };
  CHECK(first_result(drop({onnx_int("is_test", 1)}, 6), x) == std::vector<double>{7, 2});
  CHECK(first_result(drop({onnx_float("ratio", 0)}, 1), x) == std::vector<double>{7, 2});
  CHECK(first_result(drop({onnx_float("ratio", 0.25f)}, 7), x) == std::vector<double>{7, 2});
  CHECK(refusal(drop({onnx_float("ratio", 0.25f)}, 6)) ==
        ".attribute 'is_test': found 0, expected 1: training is not supported");
  CHECK(refusal(drop({onnx_int("is_test", 1)}, 7)) ==
        ".attribute 'is_test': is not an attribute of Dropout in version 7");
}

TEST_CASE("shapes, axes, types and counts that were attributes or floats") {
  const std::vector<reference::Tensor> x = {tensor_of({2, 3}, Floats{1, 2, 3, 4, 5, 6})};
  const auto one = [](const std::string& op, std::vector<MessageWriter> attributes, std::int64_t version,
                      std::vector<std::string> operands = {"x"}, std::vector<MessageWriter> constants = {}) {
    return OneNode{
        {op, std::move(operands), {"y"}, std::move(attributes)}, {floats("x", {2, 3})}, std::move(constants), version};
  };
  CHECK(types_of(one("Reshape", {onnx_ints("shape", {0, -1, 1})}, 1)) == "f32[2x3x1]");
  CHECK(refusal(one("Reshape", {}, 1)) == ".attribute 'shape': is missing");
  CHECK(refusal(one("Reshape", {onnx_ints("shape", {2, 3, 0})}, 1)) ==
        ".attribute 'shape': dim 2 is 0, which copies a dim that f32[2x3] does not have");
  CHECK(refusal(one("Reshape", {onnx_ints("shape", Integers(9, 1))}, 1)) ==
        ".attribute 'shape': asks for rank 9, expected at most 8");

  CHECK(types_of(one("Concat", {}, 1, {"x", "x"})) == "f32[2x6]");
  CHECK(refusal(one("Concat", {}, 4, {"x", "x"})) == ".attribute 'axis': is missing, but Concat needs it");

  CHECK(types_of(one("Cast", {onnx_text("to", "INT64")}, 1)) == "i64[2x3]");
  CHECK(refusal(one("Cast", {onnx_text("to", "STRING")}, 1)) ==
        ".attribute 'to': elements of STRING are not supported here");
  CHECK(refusal(one("Cast", {onnx_text("to", "int64")}, 1)) ==
        ".attribute 'to': elements of int64 are not supported here");

  CHECK(first_result(one("Pad", {onnx_ints("paddings", {0, 1, 1, 0}), onnx_float("value", 9)}, 1), x) ==
        std::vector<double>{9, 1, 2, 3, 9, 4, 5, 6, 9, 9, 9, 9});
  CHECK(refusal(one("Pad", {onnx_ints("pads", {0, 1, 1, 0})}, 1)) == ".attribute 'paddings': is missing");

  const auto tile = [&](float copies, float axis) {
    return one("Tile", {}, 1, {"x", "n", "a"},
               {onnx_tensor("n", {}, Floats{copies}), onnx_tensor("a", {}, Floats{axis})});
  };
  CHECK(first_result(tile(2, 1), x) == std::vector<double>{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  CHECK(refusal(tile(1.5f, 1)) == ".input[1] ('n'): is 1.5, expected a number of copies");
  CHECK(refusal(tile(2, 2)) == ".input[2] ('a'): is 2, expected an axis of a tensor of rank 2");
  CHECK(refusal(one("Split", {}, 1, {"x", "n"}, {onnx_tensor("n", {1}, Floats{3})})) ==
        ".input[1] ('n'): has the sizes of the parts as floats; give them as the attribute 'split'");
  CHECK(refusal(one("Acos", {}, 6)) == ": found version 6 of the domain, expected 7 to 28");
}

TEST_CASE("Upsample has a scale each for height and width before version 7") {
  const auto upsample = [](std::vector<MessageWriter> attributes, const std::vector<TestDim>& dims) {
    return OneNode{{"Upsample", {"x"}, {"y"}, std::move(attributes)}, {floats("x", dims)}, {}, 1};
  };
  const std::vector<MessageWriter> scales = {onnx_float("height_scale", 1), onnx_float("width_scale", 2)};
  const std::vector<reference::Tensor> x = {tensor_of({1, 1, 2, 2}, Floats{1, 2, 3, 5})};
  CHECK(first_result(upsample(scales, {1, 1, 2, 2}), x) == std::vector<double>{1, 1, 2, 2, 3, 3, 5, 5});
  std::vector<MessageWriter> linear = scales;
  linear.push_back(onnx_text("mode", "bilinear"));
  CHECK(first_result(upsample(linear, {1, 1, 2, 2}), x) == std::vector<double>{1, 1.5, 2, 2, 3, 4, 5, 5});
  CHECK(refusal(upsample(scales, {1, 2, 2})) == ".input[0] ('x'): has rank 3, expected 4");
  CHECK(refusal(upsample({}, {1, 1, 2, 2})) == ".attribute 'height_scale': is missing, but Upsample needs it");
  CHECK(refusal(upsample({onnx_float("height_scale", 0), onnx_float("width_scale", 2)}, {1, 1, 2, 2})) ==
        ".attribute 'height_scale' or 'width_scale': found 0, expected scales from 2^-20 to 2^20");
}

TEST_CASE("pools of version 1: padding does not count in a mean, and p is a float") {
  const std::vector<reference::Tensor> x = {tensor_of({1, 1, 3}, Floats{2, 4, 8})};
  const auto pool = [](const std::string& op, std::vector<MessageWriter> attributes) {
    return OneNode{{op, {"x"}, {"y"}, std::move(attributes)}, {floats("x", {1, 1, 3})}, {}, 1};
  };
  CHECK(first_result(pool("AveragePool", {onnx_ints("kernel_shape", {2}), onnx_ints("pads", {1, 0})}), x) ==
        std::vector<double>{2, 3, 6});
  CHECK(refusal(pool("AveragePool", {onnx_ints("kernel_shape", {2}), onnx_int("count_include_pad", 1)})) ==
        ".attribute 'count_include_pad': is not an attribute of AveragePool in version 1");
  const auto norms = first_result(pool("LpPool", {onnx_ints("kernel_shape", {2}), onnx_float("p", 1.5f)}), x);
  REQUIRE(norms.size() == 2);
  CHECK(norms[0] == doctest::Approx(std::pow(std::pow(2, 1.5) + std::pow(4, 1.5), 1 / 1.5)).epsilon(1e-6));
  CHECK(norms[1] == doctest::Approx(std::pow(std::pow(4, 1.5) + std::pow(8, 1.5), 1 / 1.5)).epsilon(1e-6));
  CHECK(first_result(pool("GlobalLpPool", {onnx_float("p", 1)}), x) == std::vector<double>{14});
  CHECK(refusal(pool("GlobalLpPool", {onnx_float("p", 0.5f)})) == ".attribute 'p': found 0.5, expected 1 or more");
}

TEST_CASE("Selu of version 1 has rounder defaults, and layers of version 1 a flag for their sequence") {
  const OneNode selu{{"Selu", {"x"}, {"y"}}, {floats("x", {2})}, {}, 1};
  const auto y = first_result(selu, {tensor_of({2}, Floats{1, -1})});
  CHECK(y[0] == doctest::Approx(1.0507).epsilon(1e-7));
  CHECK(y[1] == doctest::Approx(1.0507 * (1.6732 * std::exp(-1.0) - 1.6732)).epsilon(1e-6));

  const OneNode layer{{"RNN", {"x", "w", "r"}, {"y"}, {onnx_int("hidden_size", 1), onnx_int("output_sequence", 1)}},
                      {floats("x", {2, 1, 1})},
                      {onnx_tensor("w", {1, 1, 1}, Floats{0.5f}), onnx_tensor("r", {1, 1, 1}, Floats{2})},
                      1};
  const auto h = first_result(layer, {tensor_of({2, 1, 1}, Floats{1, -1})});
  REQUIRE(h.size() == 2);
  CHECK(h[0] == doctest::Approx(std::tanh(0.5)).epsilon(1e-6));
  CHECK(h[1] == doctest::Approx(std::tanh(-0.5 + 2 * std::tanh(0.5))).epsilon(1e-6));
}

}  // namespace
}  // namespace millrace::test
