// SPDX-License-Identifier: Apache-2.0
// Normalizations and losses against plain loops, and what is refused.
#include <cmath>

#include <doctest/doctest.h>

#include "tests/graph/import/onnx/ops/one_node.h"

namespace millrace::test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

Floats varied(std::int64_t count, int seed = 3) {
  Floats values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>((i * 7 + seed) % 11) / 4 - 1);
  return values;
}

void check_close(const reference::Tensor& y, const Doubles& expected, double tolerance = 1e-5) {
  const auto found = reference::read_all<double>(y);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(found[i] - expected[i]) <= tolerance);
  }
}

/// Each row of `length` elements minus its mean, divided by its deviation; the means and 1 / deviations follow.
Doubles normalize_rows(const Floats& x, std::size_t length, double epsilon, Doubles& means, Doubles& inverses) {
  Doubles y;
  for (std::size_t row = 0; row < x.size(); row += length) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < length; ++i) mean += double{x[row + i]} / static_cast<double>(length);
    for (std::size_t i = 0; i < length; ++i) {
      variance += std::pow(x[row + i] - mean, 2) / static_cast<double>(length);
    }
    means.push_back(mean);
    inverses.push_back(1 / std::sqrt(variance + epsilon));
    for (std::size_t i = 0; i < length; ++i) y.push_back((x[row + i] - mean) * inverses.back());
  }
  return y;
}

TEST_CASE("LayerNormalization takes any axis, and gives mean and deviation") {
  const OneNode model{{"LayerNormalization",
                       {"x", "scale", "bias"},
                       {"y", "mean", "inverse"},
                       {onnx_int("axis", 1), onnx_float("epsilon", 0.5F)}},
                      {onnx_value("x", kOnnxFloat, {"n", 3, 4})},
                      {onnx_tensor("scale", {3, 4}, varied(12, 5)), onnx_tensor("bias", {4}, varied(4, 1))}};
  const Floats x = varied(24), scale = varied(12, 5), bias = varied(4, 1);
  const std::vector<reference::Tensor> results = run_node(model, {tensor_of({2, 3, 4}, x)});
  Doubles means, inverses;
  Doubles y = normalize_rows(x, 12, 0.5, means, inverses);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = y[i] * scale[i % 12] + bias[i % 4];
  check_close(results[0], y);
  CHECK(results[1].extents() == Integers{2, 1, 1});
  check_close(results[1], means);
  check_close(results[2], inverses);
}

TEST_CASE("RMSNormalization takes any axis") {
  const OneNode model{{"RMSNormalization", {"x", "scale"}, {"y"}, {onnx_int("axis", -2)}},
                      {onnx_value("x", kOnnxFloat, {"n", 3, 4})},
                      {onnx_tensor("scale", {3, 1}, Floats{1, 2, 3})},
                      23};
  const Floats x = varied(24);
  Doubles y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double squares = 0;
    for (std::size_t j = 0; j < 12; ++j) squares += std::pow(double{x[i / 12 * 12 + j]}, 2);
    y.push_back(x[i] / std::sqrt(squares / 12 + 1e-5) * static_cast<double>(1 + i % 12 / 4));
  }
  check_close(run_node(model, {tensor_of({2, 3, 4}, x)})[0], y);
}

TEST_CASE("GroupNormalization has parameters per group, and from version 21 on per channel") {
  OneNode model{{"GroupNormalization", {"x", "scale", "bias"}, {"y"}, {onnx_int("num_groups", 2)}},
                {onnx_value("x", kOnnxFloat, {2, 4, 3})},
                {onnx_tensor("scale", {2}, Floats{2, 3}), onnx_tensor("bias", {2}, Floats{1, -1})}};
  const Floats x = varied(24);
  Doubles means, inverses;
  const Doubles normal = normalize_rows(x, 6, 1e-5, means, inverses);
  Doubles per_group, per_channel;
  for (std::size_t i = 0; i < x.size(); ++i) {
    per_group.push_back(i / 6 % 2 == 0 ? normal[i] * 2 + 1 : normal[i] * 3 - 1);
    per_channel.push_back(normal[i] * static_cast<double>(1 + i / 3 % 4));
  }
  check_close(run_node(model, {tensor_of({2, 4, 3}, x)})[0], per_group);
  model.version = 21;
  model.constants = {onnx_tensor("scale", {4}, Floats{1, 2, 3, 4}), onnx_tensor("bias", {4}, Floats{0, 0, 0, 0})};
  check_close(run_node(model, {tensor_of({2, 4, 3}, x)})[0], per_channel);
}

TEST_CASE("BatchNormalization is for inference") {
  const std::vector<MessageWriter> constants = {onnx_tensor("p", {3}, Floats{1, 2, 3})};
  const auto of = [&](std::vector<MessageWriter> attributes, std::int64_t version) {
    return refusal({{"BatchNormalization", {"x", "p", "p", "p", "p"}, {"y"}, std::move(attributes)},
                    {onnx_value("x", kOnnxFloat, {2, 3})},
                    constants,
                    version});
  };
  CHECK(of({onnx_int("training_mode", 1)}, 15) ==
        ".attribute 'training_mode': found 1, expected 0: training is not supported");
  CHECK(of({onnx_int("spatial", 0)}, 7) == ".attribute 'spatial': found 0, expected 1: statistics per channel");
  CHECK(of({onnx_int("spatial", 0)}, 9) ==
        ".attribute 'spatial': is not an attribute of BatchNormalization in version 9");
  const OneNode few{{"BatchNormalization", {"x", "p"}, {"y"}}, {onnx_value("x", kOnnxFloat, {2, 3})}, constants};
  CHECK(refusal(few) == ": has 2 operands, expected 5");
}

TEST_CASE("LRN adds up the channels around each, one more above if their number is even") {
  const OneNode model{{"LRN", {"x"}, {"y"}, {onnx_int("size", 4), onnx_float("alpha", 2), onnx_float("bias", 3)}},
                      {onnx_value("x", kOnnxFloat, {"n", 6, "w"})}};
  const Floats x = varied(2 * 6 * 5);
  Doubles y;
  for (std::int64_t i = 0; i < 60; ++i) {
    const std::int64_t channel = i / 5 % 6;
    double squares = 0;
    for (std::int64_t c = std::max<std::int64_t>(channel - 1, 0); c <= std::min<std::int64_t>(channel + 2, 5); ++c) {
      squares += std::pow(double{x[static_cast<std::size_t>(i + (c - channel) * 5)]}, 2);
    }
    y.push_back(x[static_cast<std::size_t>(i)] / std::pow(3 + 2.0 / 4 * squares, 0.75));
  }
  check_close(run_node(model, {tensor_of({2, 6, 5}, x)})[0], y);
}

TEST_CASE("LpNormalization keeps rows of zeros") {
  OneNode model{{"LpNormalization", {"x"}, {"y"}, {onnx_int("p", 1)}}, {onnx_value("x", kOnnxFloat, {2, 2})}};
  const reference::Tensor x = tensor_of({2, 2}, Floats{-3, 1, 0, 0});
  CHECK(reference::read_all<double>(run_node(model, {x})[0]) == Doubles{-0.75, 0.25, 0, 0});
  model.node.attributes = {};
  check_close(run_node(model, {x})[0], {-3 / std::sqrt(10.0), 1 / std::sqrt(10.0), 0, 0});
  model.node.attributes = {onnx_int("p", 3)};
  CHECK(refusal(model) == ".attribute 'p': found 3, expected 1 or 2");
}

TEST_CASE("MeanVarianceNormalization of equal elements is 0") {
  const OneNode model{{"MeanVarianceNormalization", {"x"}, {"y"}, {onnx_ints("axes", {1})}},
                      {onnx_value("x", kOnnxFloat, {2, 7})}};
  Floats x(14, 0.1F);
  for (std::size_t i = 7; i < 14; ++i) x[i] = static_cast<float>(i * i);
  Doubles means, inverses;
  Doubles y = normalize_rows(x, 7, 0, means, inverses);
  std::fill(y.begin(), y.begin() + 7, 0);
  check_close(run_node(model, {tensor_of({2, 7}, x)})[0], y);
}

TEST_CASE("losses leave out the ignored index, from the mean too") {
  const auto loss = [](const char* reduction) {
    const OneNode model{{"NegativeLogLikelihoodLoss",
                         {"x", "target", "weights"},
                         {"y"},
                         {onnx_text("reduction", reduction), onnx_int("ignore_index", -7)}},
                        {onnx_value("x", kOnnxFloat, {3, "c"}), onnx_value("target", kOnnxInt64, {3})},
                        {onnx_tensor("weights", {2}, Floats{2, 3})}};
    const reference::Tensor x = tensor_of({3, 2}, Floats{-1, -2, -3, -4, -5, -6});
    return reference::read_all<double>(run_node(model, {x, tensor_of({3}, Integers{1, -7, 0})})[0]);
  };
  CHECK(loss("none") == Doubles{6, 0, 10});
  CHECK(loss("sum") == Doubles{16});
  CHECK(loss("mean")[0] == doctest::Approx(16.0 / 5));
  const OneNode model{{"SoftmaxCrossEntropyLoss", {"x", "t"}, {"y"}, {onnx_text("reduction", "max")}},
                      {onnx_value("x", kOnnxFloat, {3, 2}), onnx_value("t", kOnnxInt64, {3})}};
  CHECK(refusal(model) == ".attribute 'reduction': found 'max', expected none, sum or mean");
  const OneNode flat{{"SoftmaxCrossEntropyLoss", {"x", "t"}, {"y"}},
                     {onnx_value("x", kOnnxFloat, {3}), onnx_value("t", kOnnxInt64, {3})}};
  CHECK(refusal(flat) == ".input[0] ('x'): is f32[3], expected classes in dim 1");
}

TEST_CASE("Dropout is the identity, except in training") {
  OneNode model{{"Dropout", {"x", "ratio", "trains"}, {"y", "mask"}},
                {onnx_value("x", kOnnxFloat, {"n"})},
                {onnx_tensor("ratio", {}, Floats{0.5}), onnx_tensor("trains", {}, Integers{0})}};
  CHECK(types_of(model) == "f32[n] bool[n]");
  model.constants[1] = onnx_tensor("trains", {}, Integers{1});
  CHECK(refusal(model) == ".input[2] ('trains'): is true, expected false: training is not supported");
  model.constants[0] = onnx_tensor("ratio", {}, Floats{0});
  CHECK(types_of(model) == "f32[n] bool[n]");
}

}  // namespace
}  // namespace millrace::test
