// SPDX-License-Identifier: Apache-2.0
// Fourier transforms: sizes that are symbols, and what is refused.
#include <cmath>
#include <numbers>

#include <doctest/doctest.h>

#include "tests/graph/import/onnx/ops/one_node.h"

namespace millrace::test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

TEST_CASE("STFT cuts a signal of any length into frames") {
  const OneNode model{{"STFT", {"x", "step", "w"}, {"y"}},
                      {onnx_value("x", kOnnxFloat, {1, "n"})},
                      {onnx_tensor("step", {}, Integers{3}), onnx_tensor("w", {5}, Floats{1, 2, 3, 2, 1})}};
  const Floats window = {1, 2, 3, 2, 1};
  for (const std::int64_t length : {5, 7, 20}) {
    CAPTURE(length);
    Floats x;
    for (std::int64_t i = 0; i < length; ++i) x.push_back(static_cast<float>((i * 7 + 3) % 11) - 5);
    const reference::Tensor result = run_node(model, {tensor_of({1, length}, x)})[0];
    const std::int64_t frames = (length - 5) / 3 + 1;
    REQUIRE(result.extents() == Integers{1, frames, 3, 2});
    const auto y = reference::read_all<double>(result);
    std::size_t at = 0;
    reference::for_each_index({frames, 3}, [&](const Integers& index) {
      double real = 0, imaginary = 0;
      for (std::int64_t i = 0; i < 5; ++i) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(index[1] * i) / 5;
        const double element =
            double{x[static_cast<std::size_t>(index[0] * 3 + i)]} * window[static_cast<std::size_t>(i)];
        real += element * std::cos(angle);
        imaginary += element * std::sin(angle);
      }
      CHECK(std::fabs(y[at++] - real) <= 1e-5);
      CHECK(std::fabs(y[at++] - imaginary) <= 1e-5);
    });
  }
}

TEST_CASE("transforms and windows are refused where sizes or attributes do not fit") {
  const auto dft = [](std::vector<MessageWriter> attributes, const std::vector<TestDim>& dims) {
    return refusal({{"DFT", {"x"}, {"y"}, std::move(attributes)}, {onnx_value("x", kOnnxFloat, dims)}});
  };
  CHECK(dft({}, {1, 8, 3}) == ".input[0] ('x'): is f32[1x8x3], expected floats with 1 or 2 in the last dim");
  CHECK(dft({onnx_int("axis", 2)}, {1, 8, 2}) ==
        ": axis 2 of f32[1x8x2] holds the parts of one number, expected another axis");
  CHECK(dft({onnx_int("onesided", 1)}, {1, 8, 2}) ==
        ".attribute 'onesided': found 1 with complex numbers, expected real ones");
  CHECK(dft({onnx_int("inverse", 1), onnx_int("onesided", 1)}, {1, 1, 2}) == ": the length is 0, expected 1 or more");
  CHECK(refusal({{"DFT", {"x", "", "a"}, {"y"}},
                 {onnx_value("x", kOnnxFloat, {1, 8, 2})},
                 {onnx_tensor("a", {}, Integers{4})},
                 20}) == ".input[2] ('a'): found 4, expected an axis of a tensor of rank 3");
  const auto stft = [](const std::vector<TestDim>& dims, std::int64_t step, const std::vector<std::int64_t>& window) {
    return refusal({{"STFT", {"x", "s", "w"}, {"y"}},
                    {onnx_value("x", kOnnxFloat, dims)},
                    {onnx_tensor("s", {}, Integers{step}),
                     onnx_tensor("w", window, Floats(static_cast<std::size_t>(window[0]), 1))}});
  };
  CHECK(stft({1, 8, 3}, 2, {4}) ==
        ".input[0] ('x'): is f32[1x8x3], expected floats n x length, with 1 or 2 in a last dim");
  CHECK(stft({1, 8}, 0, {4}) == ": frames of 4 points begin 0 apart, expected 1 or more for both");
  CHECK(stft({1, 8}, 2, {4, 1}) == ".input[2] ('w'): is f32[4x1], expected a list of f32");
  CHECK(stft({1, 8, 2}, 2, {4}) == ".attribute 'onesided': found 1 with complex numbers, expected real ones");
  CHECK(refusal({{"HannWindow", {"n"}, {"y"}}, {}, {onnx_tensor("n", {}, Integers{-1})}}) ==
        ".input[0] ('n'): is -1, expected 0 or more");
}

}  // namespace
}  // namespace millrace::test
