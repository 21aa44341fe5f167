// SPDX-License-Identifier: Apache-2.0
// Images and windows: what libonnx-testdata does not cover, and what is refused.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "tests/graph/import/onnx/ops/one_node.h"

namespace millrace::test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

MessageWriter image(const std::vector<TestDim>& dims) { return onnx_value("x", kOnnxFloat, dims); }

Floats counting(std::size_t count) {
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 7 + 3) % 11) - 5;
  return values;
}

TEST_CASE("scales of Resize are exact fractions of symbols") {
  const auto resized = [](const Floats& scales) {
    return types_of(
        {{"Resize", {"x", "", "scales"}, {"y"}}, {image({"n", 3, "h", 8})}, {onnx_tensor("scales", {4}, scales)}});
  };
  CHECK(resized({1, 1, 2, 2}) == "f32[n, 3, 2*h, 16]");
  CHECK(resized({1, 1, 1.5F, 0.25F}) == "f32[n, 3, h + floor_div(h, 2), 2]");
  CHECK(resized({1, 1, 0.6F, 1.0F / 3}) == "f32[n, 3, floor_div(3*min(h, 65536), 5), 2]");
}

TEST_CASE("the extents that Resize gives are products in f32") {
  const auto resized = [](const MessageWriter& x, float scale) {
    const OneNode model{{"Resize", {"x", "", "scale"}, {"y"}}, {x}, {onnx_tensor("scale", {1}, Floats{scale})}};
    const std::string refused = refusal(model);
    return refused == "imported" ? types_of(model) : refused;
  };
  CHECK(resized(image({90}), 1.3F) == "f32[116]");
  CHECK(resized(image({60}), 1.05F) == "f32[62]");
  CHECK(resized(image({82}), 1.0F / 41) == "f32[1]");
  CHECK(resized(image({10}), 0.7F) == "f32[7]");
  CHECK(
      resized(image({"h"}), 1.3F) ==
      ".input[2]: found 1.2999999523162842, whose products with the dim min(h, 65536) are not the same in f32 and as a "
      "fraction; give the dim a value");
}

TEST_CASE("Resize by linear interpolation serves any size") {
  const OneNode model{{"Resize", {"x", "", "scales"}, {"y"}, {onnx_text("mode", "linear")}},
                      {image({1, "h"})},
                      {onnx_tensor("scales", {2}, Floats{1, 1.5F})}};
  for (const std::int64_t extent : {1, 2, 5, 8}) {
    CAPTURE(extent);
    const Floats x = counting(static_cast<std::size_t>(extent));
    const auto y = reference::read_all<double>(run_node(model, {tensor_of({1, extent}, x)})[0]);
    REQUIRE(static_cast<std::int64_t>(y.size()) == extent * 3 / 2);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double at = (static_cast<double>(i) + 0.5) / 1.5 - 0.5;
      const auto element = [&](double place) {
        return double{x[static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(extent - 1)))]};
      };
      const double share = at - std::floor(at);
      const double expected = (1 - share) * element(std::floor(at)) + share * element(std::floor(at) + 1);
      CHECK(y[i] == doctest::Approx(expected).epsilon(1e-6));
    }
  }
}

TEST_CASE("ConvTranspose adds each element up through the weights, at any size") {
  const OneNode model{{"ConvTranspose",
                       {"x", "w"},
                       {"y"},
                       {onnx_ints("strides", {3}), onnx_ints("dilations", {2}), onnx_ints("pads", {1, 2}),
                        onnx_ints("output_padding", {1}), onnx_int("group", 2)}},
                      {image({1, 2, "w"})},
                      {onnx_tensor("w", {2, 1, 3}, Floats{1, 2, 3, 4, 5, 6})}};
  for (const std::int64_t extent : {1, 4, 7}) {
    CAPTURE(extent);
    const Floats x = counting(static_cast<std::size_t>(2 * extent));
    const auto y = reference::read_all<double>(run_node(model, {tensor_of({1, 2, extent}, x)})[0]);
    const std::int64_t count = (extent - 1) * 3 + 5 - 1 - 2 + 1;
    REQUIRE(static_cast<std::int64_t>(y.size()) == 2 * count);
    std::vector<double> expected(y.size());
    for (std::int64_t c = 0; c < 2; ++c) {
      for (std::int64_t i = 0; i < extent; ++i) {
        for (std::int64_t k = 0; k < 3; ++k) {
          const std::int64_t at = i * 3 + k * 2 - 1;
          if (at < 0 || at >= count) continue;
          expected[static_cast<std::size_t>(c * count + at)] +=
              double{x[static_cast<std::size_t>(c * extent + i)]} * static_cast<double>(c * 3 + k + 1);
        }
      }
    }
    CHECK(y == expected);
  }
}

TEST_CASE("MaxPool of three dims finds the first maximum of each window, and its index") {
  const OneNode model{{"MaxPool",
                       {"x"},
                       {"y", "i"},
                       {onnx_ints("kernel_shape", {2, 2, 3}), onnx_ints("strides", {1, 2, 1}),
                        onnx_ints("dilations", {1, 1, 2}), onnx_ints("pads", {1, 0, 1, 0, 1, 1})}},
                      {image({"n", 2, 3, 4, 5})}};
  const Integers extents = {2, 2, 3, 4, 5};
  const Floats x = counting(240);
  const std::vector<reference::Tensor> results = run_node(model, {tensor_of(extents, x)});
  const auto y = reference::read_all<double>(results[0]);
  const auto index = reference::read_all<std::int64_t>(results[1]);
  CHECK(results[0].extents() == Integers{2, 2, 3, 2, 3});
  std::size_t at = 0;
  reference::for_each_index({2, 2, 3, 2, 3}, [&](const Integers& o) {
    double best = -INFINITY;
    std::int64_t place = -1;
    reference::for_each_index({2, 2, 3}, [&](const Integers& k) {
      const Integers p = {o[2] + k[0] - 1, o[3] * 2 + k[1], o[4] + k[2] * 2 - 1};
      if (p[0] < 0 || p[0] >= 3 || p[1] >= 4 || p[2] < 0 || p[2] >= 5) return;
      const std::int64_t i = (((o[0] * 2 + o[1]) * 3 + p[0]) * 4 + p[1]) * 5 + p[2];
      if (double{x[static_cast<std::size_t>(i)]} <= best) return;
      best = double{x[static_cast<std::size_t>(i)]};
      place = i;
    });
    CHECK(y[at] == best);
    CHECK(index[at] == place);
    ++at;
  });
}

TEST_CASE("Resize is refused where its meaning is not known") {
  const auto resize = [](std::vector<MessageWriter> attributes, const Floats& scales, std::int64_t version = 18) {
    return refusal({{"Resize", {"x", "", "s"}, {"y"}, std::move(attributes)},
                    {image({4, "h"})},
                    {onnx_tensor("s", {static_cast<std::int64_t>(scales.size())}, scales)},
                    version});
  };
  CHECK(resize({onnx_text("mode", "area")}, {1, 2}) ==
        ".attribute 'mode': found 'area', expected one of nearest, linear, cubic");
  CHECK(
      resize({onnx_text("nearest_mode", "simple")}, {1, 2}) ==
      ".attribute 'nearest_mode': found 'simple', expected one of round_prefer_floor, round_prefer_ceil, floor, ceil");
  CHECK(resize({onnx_int("antialias", 1)}, {1, 2}) ==
        ".attribute 'antialias': found 1 with the mode nearest, expected linear or cubic");
  CHECK(resize({}, {1, 2, 3}) == ".input[2]: has 3 numbers, expected one for each of 2 axes");
  CHECK(resize({}, {1, -2}) == ".input[2]: found -2, expected scales from 2^-20 to 2^20");
  CHECK(resize({}, {}) == ": found neither scales nor sizes, expected scales or sizes");
  CHECK(resize({onnx_ints("axes", {1, -1})}, {1, 2}) ==
        ".attribute 'axes': found -1, expected different axes of a tensor of rank 2");
  CHECK(refusal({{"Resize", {"x", "", "", "s"}, {"y"}, {onnx_text("keep_aspect_ratio_policy", "not_larger")}},
                 {image({4, "h"})},
                 {onnx_tensor("s", {2}, Integers{8, 8})}}) ==
        ".attribute 'keep_aspect_ratio_policy': depends on dims that are not known; give them values");
  CHECK(refusal({{"Resize", {"x", "", "", "s"}, {"y"}, {onnx_text("keep_aspect_ratio_policy", "crop")}},
                 {image({4, 4})},
                 {onnx_tensor("s", {2}, Integers{8, 8})}}) ==
        ".attribute 'keep_aspect_ratio_policy': found 'crop', expected stretch, not_larger or not_smaller");
  CHECK(refusal({{"Resize", {"x", "", "", "s"}, {"y"}}, {image({4, 4})}, {onnx_tensor("s", {1}, Integers{8})}}) ==
        ".input[3] ('s'): has 1 sizes, expected one for each of 2 axes");
  CHECK(
      refusal({{"Resize", {"x", "r", "s"}, {"y"}, {onnx_text("coordinate_transformation_mode", "tf_crop_and_resize")}},
               {image({4, 4})},
               {onnx_tensor("r", {2}, Floats{0, 1}), onnx_tensor("s", {2}, Floats{1, 2})}}) ==
      ".input[1] ('r'): is f32[2], expected 4 floats");
  CHECK(refusal({{"Resize", {"x", "", "s"}, {"y"}, {onnx_text("mode", "linear")}},
                 {onnx_value("x", kOnnxInt64, {4, 4})},
                 {onnx_tensor("s", {2}, Floats{1, 2})}}) ==
        ".input[0] ('x'): is i64[4x4], expected floats unless the mode is nearest; how integers round is not defined");
  CHECK(refusal({{"Upsample", {"x", "s"}, {"y"}}, {image({4, 4})}, {onnx_tensor("s", {2}, Floats{1, 2})}, 10}) ==
        ": the op is deprecated from version 10 on; use Resize");
}

TEST_CASE("padding is refused where its counts or its mode are wrong") {
  const auto pad = [](std::vector<MessageWriter> attributes, const Integers& counts) {
    return refusal({{"Pad", {"x", "p"}, {"y"}, std::move(attributes)},
                    {image({4, "h"})},
                    {onnx_tensor("p", {static_cast<std::int64_t>(counts.size())}, counts)}});
  };
  CHECK(pad({}, {1, 2}) == ": has 2 counts of padding, expected two for each of 2 axes");
  CHECK(pad({onnx_text("mode", "wrap")}, {1, 1, 1, 1}) ==
        ".attribute 'mode': found 'wrap', expected constant, reflect, edge or, from version 19 on, wrap");
  CHECK(refusal({{"Pad", {"x", "p", "", "a"}, {"y"}},
                 {image({4, 4})},
                 {onnx_tensor("p", {4}, Integers{1, 1, 1, 1}), onnx_tensor("a", {2}, Integers{0, 2})}}) ==
        ".input[3] ('a'): found 2, expected different axes of a tensor of rank 2");
  CHECK(refusal({{"CenterCropPad", {"x", "s"}, {"y"}}, {image({4, 4})}, {onnx_tensor("s", {1}, Integers{3})}}) ==
        ".input[1] ('s'): has 1 sizes, expected one per axis");
}

TEST_CASE("transposed convolutions and pools are refused where windows do not fit") {
  const auto transposed = [](std::vector<MessageWriter> attributes, const std::vector<TestDim>& dims) {
    return refusal({{"ConvTranspose", {"x", "w"}, {"y"}, std::move(attributes)},
                    {image(dims)},
                    {onnx_tensor("w", {2, 1, 2}, Floats{1, 2, 3, 4})}});
  };
  CHECK(transposed({}, {1, 2}) == ".input[0] ('x'): has rank 2, expected 3 to 7");
  CHECK(transposed({}, {1, 2, 4, 4}) == ".input[1] ('w'): has rank 3, expected 4");
  CHECK(transposed({onnx_int("group", 3)}, {1, 2, 4}) ==
        ".input[1] ('w'): is f32[2x1x2], expected the channels of f32[1x2x4] in dim 0, in 3 equal groups");
  CHECK(transposed({onnx_ints("output_padding", {-1})}, {1, 2, 4}) ==
        ".attribute 'output_padding': expected 1 numbers from 0 to less than 2^31");
  CHECK(transposed({onnx_ints("output_shape", {9, 9})}, {1, 2, 4}) ==
        ".attribute 'output_shape': has 2 numbers, expected 1");
  const auto pool = [](const std::string& op, std::vector<MessageWriter> attributes) {
    attributes.push_back(onnx_ints("kernel_shape", {3}));
    return refusal({{op, {"x"}, {"y"}, std::move(attributes)}, {image({1, 2, 4})}});
  };
  CHECK(pool("MaxPool", {onnx_ints("dilations", {2})}) ==
        ".input[0] ('x'): is f32[1x2x4], too small in dim 2 for windows of 5");
  CHECK(pool("MaxPool", {onnx_ints("pads", {-1, 0})}) ==
        ".attribute 'pads': found a number below 0, expected 0 or more; slice the operand first");
  CHECK(pool("LpPool", {onnx_int("p", 0)}) == ".attribute 'p': found 0, expected 1 or more");
  CHECK(refusal({{"GlobalLpPool", {"x"}, {"y"}}, {image({1, 2})}}) ==
        ".input[0] ('x'): is f32[1x2], expected dims after n and c");
}

TEST_CASE("samples of images are refused where their points are not defined") {
  const auto grid = [](std::vector<MessageWriter> attributes, const std::vector<TestDim>& dims) {
    return refusal({{"GridSample", {"x", "g"}, {"y"}, std::move(attributes)},
                    {image({1, 2, 4, 4}), onnx_value("g", kOnnxFloat, dims)},
                    {}});
  };
  CHECK(grid({onnx_text("mode", "cubic")}, {1, 3, 3, 2}) ==
        ".attribute 'mode': found 'cubic', expected nearest, bilinear or bicubic");
  CHECK(grid({onnx_text("padding_mode", "wrap")}, {1, 3, 3, 2}) ==
        ".attribute 'padding_mode': found 'wrap', expected zeros, border or reflection");
  CHECK(grid({}, {1, 3, 2}) == ": found f32[1x2x4x4] and a grid f32[1x3x2], expected equal ranks from 3 to 5");
  CHECK(grid({}, {1, 3, 3, "k"}) == "imported");  // each run checks that k is 2
  CHECK(grid({}, {1, 3, 3, 3}) == ".input[1] ('g'): is f32[1x3x3x3], expected floats with 2 in the last dim");
  const auto roi = [](std::vector<MessageWriter> attributes, std::int64_t columns) {
    return refusal({{"RoiAlign", {"x", "r", "b"}, {"y"}, std::move(attributes)},
                    {image({1, 2, 4, 4}), onnx_value("r", kOnnxFloat, {5, columns}), onnx_value("b", kOnnxInt64, {5})},
                    {}});
  };
  CHECK(roi({}, 4) ==
        ".attribute 'sampling_ratio': found less than 1, expected 1 or more; otherwise the elements of rois decide how "
        "many points are read");
  CHECK(roi({onnx_int("sampling_ratio", 2), onnx_text("mode", "sum")}, 4) ==
        ".attribute 'mode': found 'sum', expected avg or max");
  CHECK(roi({onnx_int("sampling_ratio", 2), onnx_text("coordinate_transformation_mode", "pixel")}, 4) ==
        ".attribute 'coordinate_transformation_mode': found 'pixel', expected half_pixel or output_half_pixel");
  CHECK(roi({onnx_int("sampling_ratio", 2), onnx_int("output_height", 0)}, 4) ==
        ": output_height, output_width and sampling_ratio are 0, 1 and 2, expected 1 to 32768");
  CHECK(roi({onnx_int("sampling_ratio", 2)}, 5) ==
        ": found f32[1x2x4x4], f32[5x5] and i64[5], expected images, rois x 4, and an i64 index per roi");
  CHECK(refusal({{"DepthToSpace", {"x"}, {"y"}, {onnx_int("blocksize", 2), onnx_text("mode", "RCD")}},
                 {image({1, 4, 2, 2})}}) == ".attribute 'mode': found 'RCD', expected DCR or CRD");
}

TEST_CASE("DepthToSpace and SpaceToDepth take dims with names") {
  const OneNode depth{{"DepthToSpace", {"x"}, {"y"}, {onnx_int("blocksize", 2)}}, {image({"n", "c", 1, "w"})}};
  CHECK(types_of(depth) == "f32[n, floor_div(c, 4), 2, 2*w]");
  const Floats x = counting(2 * 8 * 3);
  const reference::Tensor y = run_node(depth, {tensor_of({2, 8, 1, 3}, x)})[0];
  CHECK(y.extents() == Integers{2, 2, 2, 6});
  Floats expected;
  for (std::size_t i = 0; i < 2 * 2 * 2 * 6; ++i) {
    const std::size_t n = i / 24, c = i / 12 % 2, row = i / 6 % 2, column = i % 6;
    const std::size_t channel = (row * 2 + column % 2) * 2 + c;
    expected.push_back(x[(n * 8 + channel) * 3 + column / 2]);
  }
  CHECK(reference::read_all<float>(y) == expected);
  const OneNode space{{"SpaceToDepth", {"x"}, {"y"}, {onnx_int("blocksize", 2)}}, {image({"n", "c", "h", "w"})}};
  CHECK(types_of(space) == "f32[n, 4*c, floor_div(h, 2), floor_div(w, 2)]");
  CHECK(reference::read_all<float>(run_node(space, {y})[0]) == x);
}

TEST_CASE("MaxRoiPool takes the maximum of each bin, at any number of boxes") {
  const OneNode model{
      {"MaxRoiPool", {"x", "r"}, {"y"}, {onnx_ints("pooled_shape", {2, 3}), onnx_float("spatial_scale", 0.5F)}},
      {image({2, 1, 5, 6}), onnx_value("r", kOnnxFloat, {"n", 5})}};
  const Floats x = counting(60);
  const Floats boxes = {0, 1, 0, 9, 8, 1, 5, 3, 7, 3, 1, 20, 20, 30, 30};
  const auto y =
      reference::read_all<double>(run_node(model, {tensor_of({2, 1, 5, 6}, x), tensor_of({3, 5}, boxes)})[0]);
  std::size_t at = 0;
  reference::for_each_index({3, 2, 3}, [&](const Integers& bin) {
    const float* box = &boxes[static_cast<std::size_t>(bin[0]) * 5];
    // The places of a bin along one axis.
    const auto range = [&](std::size_t corner, std::int64_t i, std::int64_t count, double extent) {
      const double first = std::round(box[corner] * 0.5), last = std::round(box[corner + 2] * 0.5);
      const double size = std::max(last - first + 1, 1.0) / static_cast<double>(count);
      const double low = first + std::floor(static_cast<double>(i) * size);
      const double high = first + std::ceil(static_cast<double>(i + 1) * size);
      return std::pair(static_cast<std::int64_t>(std::clamp(low, 0.0, extent)),
                       static_cast<std::int64_t>(std::clamp(high, 0.0, extent)));
    };
    const auto [top, bottom] = range(2, bin[1], 2, 5);
    const auto [left, right] = range(1, bin[2], 3, 6);
    double expected = top < bottom && left < right ? -INFINITY : 0;
    for (std::int64_t i = top; i < bottom; ++i) {
      for (std::int64_t j = left; j < right; ++j) {
        const auto image_index = static_cast<std::int64_t>(box[0]);
        expected = std::max(expected, double{x[static_cast<std::size_t>((image_index * 5 + i) * 6 + j)]});
      }
    }
    CHECK(y[at++] == expected);
  });
}

TEST_CASE("ops on images without a known size are refused by name") {
  CHECK(refusal({{"NonMaxSuppression", {"b", "s"}, {"y"}},
                 {onnx_value("b", kOnnxFloat, {1, 5, 4}), onnx_value("s", kOnnxFloat, {1, 1, 5})}}) ==
        ": the elements of an operand decide the size of the result, which is not supported");
  constexpr std::int64_t kOnnxUint8 = 2;
  CHECK(refusal({{"ImageDecoder", {"x"}, {"y"}}, {onnx_value("x", kOnnxUint8, {"n"})}, {}, 20}) ==
        ": pictures in files are not supported; decode them first");
  CHECK(refusal({{"MaxRoiPool", {"x", "x"}, {"y"}}, {image({1, 1, 4, 4})}}) ==
        ".attribute 'pooled_shape': expected two numbers of 1 or more");
  CHECK(refusal({{"MaxRoiPool", {"x", "x"}, {"y"}, {onnx_ints("pooled_shape", {2, 2})}}, {image({1, 1, 4, 4})}}) ==
        ": found f32[1x1x4x4] and f32[1x1x4x4], expected floats n x c x h x w and rois x 5");
  CHECK(refusal({{"SpaceToDepth", {"x"}, {"y"}, {onnx_int("blocksize", 2), onnx_text("mode", "RCD")}},
                 {image({1, 4, 2, 2})},
                 {},
                 28}) == ".attribute 'mode': found 'RCD', expected DCR or CRD");
}

}  // namespace
}  // namespace millrace::test
