// SPDX-License-Identifier: Apache-2.0
// What ops on windows, blocks and bands of frequencies refuse.
#include <limits>

#include <doctest/doctest.h>

#include "tests/graph/import/onnx/ops/one_node.h"

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
        ": found f32[1x4x9] with 2 image dims and 1 block dims, expected rank 3 and equal numbers of dims from 1 to 3");
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
        ": f32[1x1x4x4], f32[1x1x2x2] and f32[1x8x4x3] do not fit together with the groups");
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
        ": found i8[1x2x4] and weights i8[1x2x3x3], expected equal ranks from 3 to 7");
  CHECK(refusal({{"MatMulInteger", {"x", "w"}, {"y"}},
                 {onnx_value("x", kOnnxInt8, {2, 3, 4}), onnx_value("w", kOnnxInt8, {3, 4, 5})}}) ==
        ": found i8[2x3x4] and i8[3x4x5], expected batch dims that are equal or 1");
  CHECK(refusal({{"MatMulInteger", {"x", "w"}, {"y"}},
                 {onnx_value("x", kOnnxInt8, {}), onnx_value("w", kOnnxInt8, {4, 5})}}) ==
        ": found a scalar, expected matrices or vectors");
}

TEST_CASE("numbers of windows whose products could overflow are refused") {
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  const auto pool = [](const char* name, const Integers& numbers) {
    std::vector<MessageWriter> attributes = {onnx_ints(name, numbers)};
    if (std::string_view(name) != "kernel_shape") attributes.push_back(onnx_ints("kernel_shape", {1}));
    return refusal({{"MaxPool", {"x"}, {"y"}, attributes}, {image({1, 1, "w"})}});
  };
  CHECK(pool("kernel_shape", {kLimit}) == ".attribute 'kernel_shape': found 2147483648, expected less than 2^31");
  CHECK(pool("strides", {kLimit}) == ".attribute 'strides': found 2147483648, expected less than 2^31");
  CHECK(pool("dilations", {kLimit}) == ".attribute 'dilations': found 2147483648, expected less than 2^31");
  CHECK(pool("pads", {0, kLimit}) == ".attribute 'pads': found 2147483648, expected numbers between -2^31 and 2^31");
  CHECK(pool("pads", {std::numeric_limits<std::int64_t>::min(), 0}) ==
        ".attribute 'pads': found -9223372036854775808, expected numbers between -2^31 and 2^31");
  CHECK(pool("kernel_shape", {0}) == ".attribute 'kernel_shape': found 0, expected 1 or more");
  CHECK(pool("strides", {0}) == ".attribute 'strides': found 0, expected 1 or more");
  CHECK(pool("dilations", {-1}) == ".attribute 'dilations': found -1, expected 1 or more");
  // The largest numbers that are accepted.
  CHECK(types_of({{"MaxPool",
                   {"x"},
                   {"y"},
                   {onnx_ints("kernel_shape", {kLimit - 1}), onnx_ints("dilations", {kLimit - 1}),
                    onnx_ints("strides", {kLimit - 1}), onnx_ints("pads", {kLimit - 2, kLimit - 1})}},
                  {image({1, 1, "w"})}}) == "f32[1, 1, floor_div(w + 2147483645, 2147483647) - 2147483644]");

  const auto transposed = [](const char* name, const Integers& numbers) {
    return refusal({{"ConvTranspose", {"x", "w"}, {"y"}, {onnx_ints(name, numbers)}},
                    {image({1, 1, 4})},
                    {onnx_tensor("w", {1, 1, 2}, Floats{1, 2})}});
  };
  CHECK(transposed("strides", {kLimit}) == ".attribute 'strides': found 2147483648, expected less than 2^31");
  CHECK(transposed("dilations", {kLimit}) == ".attribute 'dilations': found 2147483648, expected less than 2^31");
  CHECK(transposed("pads", {kLimit, 0}) ==
        ".attribute 'pads': found 2147483648, expected numbers between -2^31 and 2^31");
  CHECK(transposed("output_padding", {kLimit}) ==
        ".attribute 'output_padding': expected 1 numbers from 0 to less than 2^31");
  CHECK(transposed("output_padding", {-1}) ==
        ".attribute 'output_padding': expected 1 numbers from 0 to less than 2^31");
  CHECK(transposed("output_shape", {-1}) == ".attribute 'output_shape': expected numbers from 0 to 2^48");
  CHECK(transposed("output_shape", {std::numeric_limits<std::int64_t>::max()}) ==
        ".attribute 'output_shape': expected numbers from 0 to 2^48");
  CHECK(types_of({{"ConvTranspose", {"x", "w"}, {"y"}, {onnx_ints("strides", {kLimit - 1})}},
                  {image({1, 1, 4})},
                  {onnx_tensor("w", {1, 1, 2}, Floats{1, 2})}}) == "f32[1x1x6442450943]");

  const auto fold = [](const char* name, std::int64_t number) {
    const Integers list(std::string_view(name) == "pads" ? 4 : 2, number);
    return refusal({{"Col2Im", {"x", "s", "b"}, {"y"}, {onnx_ints(name, list)}},
                    {image({1, 4, 9})},
                    {onnx_tensor("s", {2}, Integers{4, 4}), onnx_tensor("b", {2}, Integers{2, 2})}});
  };
  CHECK(fold("strides", kLimit) == ".attribute 'strides': found 2147483648, expected less than 2^31");
  CHECK(fold("dilations", kLimit) == ".attribute 'dilations': found 2147483648, expected less than 2^31");
  CHECK(fold("pads", kLimit) == ".attribute 'pads': found 2147483648, expected less than 2^31");
}

TEST_CASE("RoiAlign is refused where a roi would have too many points") {
  const auto align = [](const char* name, std::int64_t number) {
    std::vector<MessageWriter> attributes = {onnx_int(name, number)};
    if (std::string_view(name) != "sampling_ratio") attributes.push_back(onnx_int("sampling_ratio", 2));
    return refusal({{"RoiAlign", {"x", "r", "b"}, {"y"}, attributes},
                    {image({1, 1, 4, 4}), onnx_value("r", kOnnxFloat, {1, 4}), onnx_value("b", kOnnxInt64, {1})}});
  };
  CHECK(align("output_height", std::int64_t{1} << 62) ==
        ": output_height, output_width and sampling_ratio are 4611686018427387904, 1 and 2, expected 1 to 32768");
  CHECK(align("output_width", 32769) ==
        ": output_height, output_width and sampling_ratio are 1, 32769 and 2, expected 1 to 32768");
  CHECK(align("output_width", 0) ==
        ": output_height, output_width and sampling_ratio are 1, 0 and 2, expected 1 to 32768");
  CHECK(align("sampling_ratio", std::numeric_limits<std::int64_t>::max()) ==
        ": output_height, output_width and sampling_ratio are 1, 1 and 9223372036854775807, expected 1 to 32768");
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
        ": found 0 bands, a length of 16 and a rate of 8192, expected 1 to 65536 for bands and length, and a rate of 1 "
        "or more");
  CHECK(mel(2, 80000) == ": a band reaches frequency 14, expected 0 to 8");
}

}  // namespace
}  // namespace millrace::test
