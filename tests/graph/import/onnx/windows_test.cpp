// SPDX-License-Identifier: Apache-2.0
// What ops on windows, blocks and bands of frequencies refuse.
#include <doctest/doctest.h>

#include "tests/graph/import/onnx/one_node.h"

namespace millrace::test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kOnnxUint8 = 2, kOnnxInt8 = 3;

MessageWriter image(const std::vector<TestDim>& dims) { return onnx_value("x", kOnnxFloat, dims); }

TEST_CASE("Col2Im is refused where blocks do not fit") {
  const auto fold = [](std::vector<MessageWriter> attributes, const std::vector<TestDim>& dims, const Integers& block) {
    const auto count = static_cast<std::int64_t>(block.size());
    return refusal({{"Col2Im", {"x", "s", "b"}, {"y"}, std::move(attributes)},
                    {image(dims)},
                    {onnx_tensor("s", {2}, Integers{4, 4}), onnx_tensor("b", {count}, block)}});
  };
  CHECK(fold({}, {1, 4, 9}, {2, 0}) == ".input[2] ('b'): found 0, expected 1 or more");
  CHECK(fold({}, {1, 4, 9}, {2}) ==
        ": found f32[1x4x9] and images of 2 dims with blocks of 1, expected rank 3 and 1 to 3 dims of both");
  CHECK(fold({}, {1, 6, 9}, {2, 2}) == ".input[0] ('x'): is f32[1x6x9], expected a multiple of 4 in dim 1");
  CHECK(fold({onnx_ints("strides", {1})}, {1, 4, 9}, {2, 2}) == ".attribute 'strides': has 1 numbers, expected 2");
  CHECK(fold({onnx_ints("pads", {0, 0, 0, -1})}, {1, 4, 9}, {2, 2}) ==
        ".attribute 'pads': found -1, expected 0 or more");
}

TEST_CASE("grids, deformed windows and placed maxima are refused where shapes do not fit") {
  CHECK(
      refusal(
          {{"AffineGrid", {"x", "s"}, {"y"}}, {image({1, 3, 3})}, {onnx_tensor("s", {4}, Integers{1, 1, 2, 2})}, 20}) ==
      ": found theta f32[1x3x3] and 4 sizes, expected n x 2 x 3 and 4, or n x 3 x 4 and 5");
  const auto deform = [](const std::vector<TestDim>& dims, const std::vector<TestDim>& offsets) {
    return refusal({{"DeformConv", {"x", "w", "o"}, {"y"}},
                    {image(dims), onnx_value("o", kOnnxFloat, offsets)},
                    {onnx_tensor("w", {1, 1, 2, 2}, Floats{1, 2, 3, 4})},
                    19});
  };
  CHECK(deform({1, 1, 4}, {1, 8, 3, 3}) ==
        ": found f32[1x1x4], f32[1x1x2x2] and f32[1x8x3x3], expected rank 4, with windows of known size");
  CHECK(deform({1, 1, 4, 4}, {1, 8, 4, 3}) ==
        ": f32[1x1x4x4], f32[1x1x2x2] and f32[1x8x4x3] do not fit each other and the groups");
  const auto unpool = [](std::int64_t type, const Integers& shape) {
    return refusal({{"MaxUnpool", {"x", "i", "s"}, {"y"}, {onnx_ints("kernel_shape", {2, 2})}},
                    {image({1, 1, 2, 2}), onnx_value("i", type, {1, 1, 2, 2})},
                    {onnx_tensor("s", {static_cast<std::int64_t>(shape.size())}, shape)}});
  };
  CHECK(unpool(kOnnxUint8, {1, 1, 3, 3}) ==
        ".input[1] ('i'): is u8[1x1x2x2], expected i64 of the shape of f32[1x1x2x2]");
  CHECK(unpool(kOnnxInt64, {3, 3}) == ".input[2] ('s'): has 2 sizes, expected 4");
}

TEST_CASE("convolutions are refused where windows have no known size") {
  const auto convolve = [](const std::string& op, std::int64_t type, const std::vector<TestDim>& weights) {
    return refusal({{op, {"x", "w"}, {"y"}}, {onnx_value("x", type, {1, 2, 4}), onnx_value("w", type, weights)}});
  };
  CHECK(convolve("Conv", kOnnxFloat, {1, 2, "k"}) ==
        ".input[1] ('w'): is f32[1, 2, k], expected windows of known size");
  CHECK(convolve("Conv", kOnnxFloat, {1, 2, 3, 3}) == ".input[1] ('w'): has rank 4, expected 3");
  CHECK(convolve("ConvTranspose", kOnnxFloat, {2, 1, "k"}) ==
        ".input[1] ('w'): is f32[2, 1, k], expected windows of known size");
  CHECK(convolve("ConvInteger", kOnnxInt8, {1, 2, "k"}) ==
        ": found weights i8[1, 2, k], expected windows of known size");
  CHECK(convolve("ConvInteger", kOnnxInt8, {1, 2, 3, 3}) ==
        ": found i8[1x2x4] and weights i8[1x2x3x3], expected one rank from 3 to 7");
  CHECK(refusal({{"MatMulInteger", {"x", "w"}, {"y"}},
                 {onnx_value("x", kOnnxInt8, {2, 3, 4}), onnx_value("w", kOnnxInt8, {3, 4, 5})}}) ==
        ": found i8[2x3x4] and i8[3x4x5], expected batch dims that are equal or 1");
  CHECK(refusal({{"MatMulInteger", {"x", "w"}, {"y"}},
                 {onnx_value("x", kOnnxInt8, {}), onnx_value("w", kOnnxInt8, {4, 5})}}) ==
        ": found a scalar, expected matrices or vectors");
}

TEST_CASE("mel bands are refused outside the frequencies") {
  const auto mel = [](std::int64_t bands, float high) {
    return refusal(
        {{"MelWeightMatrix", {"n", "l", "r", "a", "b"}, {"y"}},
         {},
         {onnx_tensor("n", {}, Integers{bands}), onnx_tensor("l", {}, Integers{16}),
          onnx_tensor("r", {}, Integers{8192}), onnx_tensor("a", {}, Floats{0}), onnx_tensor("b", {}, Floats{high})}});
  };
  CHECK(mel(0, 4096) ==
        ": found 0 bands, a length of 16 and a rate of 8192, expected 1 to 65536, and a rate of 1 or more");
  CHECK(mel(2, 80000) == ": a band reaches frequency 14, expected 0 to 8");
}

}  // namespace
}  // namespace millrace::test
