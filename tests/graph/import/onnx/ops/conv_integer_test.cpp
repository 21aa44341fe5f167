// SPDX-License-Identifier: Apache-2.0
// ConvInteger and QLinearConv: zero points of all kinds with windows of all kinds, against plain loops.
#include <cmath>
#include <optional>

#include <doctest/doctest.h>

#include "tests/graph/import/onnx/ops/one_node.h"

namespace millrace::test {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kOnnxUint8 = 2, kOnnxInt8 = 3;

/// A convolution over up to three dims; 1-d and 2-d ones have extents of 1 before theirs.
struct Convolution {
  std::int64_t batch = 2, channels = 4, filters = 6, groups = 1;
  Integers extents, kernel, strides, dilations, low, high;  // three of each

  std::int64_t output(std::size_t d) const {
    return (extents[d] + low[d] + high[d] - (kernel[d] - 1) * dilations[d] - 1) / strides[d] + 1;
  }
};

/// The sum over each window of (x - a) * (w - b), with nothing outside the image. `b` has one element per filter.
Integers convolve(const Convolution& c, const Integers& x, std::int64_t a, const Integers& w, const Integers& b) {
  const std::int64_t of_group = c.channels / c.groups;
  const auto at = [](const Integers& values, std::int64_t i) { return values[static_cast<std::size_t>(i)]; };
  Integers sums;
  for (std::int64_t n = 0; n < c.batch; ++n) {
    for (std::int64_t o = 0; o < c.filters; ++o) {
      for (std::int64_t i = 0; i < c.output(0) * c.output(1) * c.output(2); ++i) {
        const Integers first = {i / c.output(2) / c.output(1), i / c.output(2) % c.output(1), i % c.output(2)};
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < of_group * c.kernel[0] * c.kernel[1] * c.kernel[2]; ++k) {
          const Integers point = {k / c.kernel[2] / c.kernel[1] % c.kernel[0], k / c.kernel[2] % c.kernel[1],
                                  k % c.kernel[2]};
          std::int64_t place =
              n * c.channels + o / (c.filters / c.groups) * of_group + k / (c.kernel[0] * c.kernel[1] * c.kernel[2]);
          bool is_inside = true;
          for (std::size_t d = 0; d < 3; ++d) {
            const std::int64_t position = first[d] * c.strides[d] + point[d] * c.dilations[d] - c.low[d];
            is_inside = is_inside && position >= 0 && position < c.extents[d];
            place = place * c.extents[d] + position;
          }
          const std::int64_t weight = o * of_group * c.kernel[0] * c.kernel[1] * c.kernel[2] + k;
          if (is_inside) sum += (at(x, place) - a) * (at(w, weight) - at(b, o));
        }
        sums.push_back(sum);
      }
    }
  }
  return sums;
}

Integers some_bytes(std::int64_t count, bool is_signed, std::int64_t seed) {
  Integers values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back((i * 37 + i / 7 * 11 + seed) % 256 - (is_signed ? 128 : 0));
  return values;
}

reference::Tensor byte_tensor(const reference::Extents& extents, bool is_signed, const Integers& values) {
  if (is_signed) return tensor_of(extents, std::vector<std::int8_t>(values.begin(), values.end()));
  return tensor_of(extents, std::vector<std::uint8_t>(values.begin(), values.end()));
}

std::string raw(const Integers& values) {
  std::string bytes;
  for (const std::int64_t value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

/// The last `count` of three.
Integers last(const Integers& three, std::size_t count) {
  return {three.end() - static_cast<std::ptrdiff_t>(count), three.end()};
}

Integers joined(Integers first, const Integers& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

struct ZeroPoints {
  std::int64_t a = 0;
  Integers b = {0};      // one, or one per filter
  bool is_known = true;  // constants of the model, or inputs
  bool x_signed = false, w_signed = true;
};

void check_convolution(const Convolution& c, std::size_t num_dims, const ZeroPoints& zero) {
  const Integers extents = last(c.extents, num_dims), kernel = last(c.kernel, num_dims);
  const Integers x_dims = joined({c.batch, c.channels}, extents);
  const Integers w_dims = joined({c.filters, c.channels / c.groups}, kernel);
  const auto count_of = [](const Integers& dims) {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    return count;
  };
  const Integers x = some_bytes(count_of(x_dims), zero.x_signed, 3), w = some_bytes(count_of(w_dims), zero.w_signed, 9);
  const std::int64_t x_type = zero.x_signed ? kOnnxInt8 : kOnnxUint8, w_type = zero.w_signed ? kOnnxInt8 : kOnnxUint8;
  const Integers b_dims = zero.b.size() == 1 ? Integers() : Integers{c.filters};
  std::vector<TestDim> dims = {"batch"};
  for (std::size_t d = 1; d < x_dims.size(); ++d) dims.emplace_back(x_dims[d]);
  OneNode model{
      {"ConvInteger",
       {"x", "w", "a", "b"},
       {"y"},
       {onnx_ints("strides", last(c.strides, num_dims)), onnx_ints("dilations", last(c.dilations, num_dims)),
        onnx_ints("pads", joined(last(c.low, num_dims), last(c.high, num_dims))), onnx_int("group", c.groups)}},
      {onnx_value("x", x_type, dims)},
      {onnx_tensor("w", w_type, w_dims, raw(w))}};
  std::vector<reference::Tensor> inputs = {byte_tensor(x_dims, zero.x_signed, x)};
  if (zero.is_known) {
    model.constants.push_back(onnx_tensor("a", x_type, {}, raw({zero.a})));
    model.constants.push_back(onnx_tensor("b", w_type, b_dims, raw(zero.b)));
  } else {
    model.inputs.push_back(onnx_value("a", x_type, {}));
    model.inputs.push_back(onnx_value("b", w_type, {b_dims.begin(), b_dims.end()}));
    inputs.push_back(byte_tensor({}, zero.x_signed, {zero.a}));
    inputs.push_back(byte_tensor(b_dims, zero.w_signed, zero.b));
  }
  Integers b = zero.b;
  if (b.size() == 1) b.assign(static_cast<std::size_t>(c.filters), zero.b[0]);
  const reference::Tensor found = run_node(model, inputs)[0];
  CHECK(found.type.dtype == DType::kI32);
  CHECK(reference::read_all<std::int64_t>(found) == convolve(c, x, zero.a, w, b));
}

const Convolution kImage = {.extents = {1, 9, 8},
                            .kernel = {1, 3, 2},
                            .strides = {1, 2, 1},
                            .dilations = {1, 1, 2},
                            .low = {0, 1, 0},
                            .high = {0, 2, 3}};

TEST_CASE("ConvInteger subtracts zero points, known or not, and pads with the one of the image") {
  for (const bool is_known : {true, false}) {
    for (const bool x_signed : {true, false}) {
      for (const bool w_signed : {true, false}) {
        CAPTURE(is_known);
        CAPTURE(x_signed);
        CAPTURE(w_signed);
        const ZeroPoints zero{.is_known = is_known, .x_signed = x_signed, .w_signed = w_signed};
        const std::int64_t a = x_signed ? -77 : 200, b = w_signed ? -5 : 131;
        for (const ZeroPoints& points :
             {zero, ZeroPoints{a, {0}, is_known, x_signed, w_signed}, ZeroPoints{0, {b}, is_known, x_signed, w_signed},
              ZeroPoints{a, {b, 1, 2, 3, 4, 127}, is_known, x_signed, w_signed}}) {
          check_convolution(kImage, 2, points);
        }
      }
    }
  }
}

TEST_CASE("ConvInteger has groups, and windows over one and three dims") {
  Convolution grouped = kImage, line = kImage, volume = kImage, plain = kImage;
  grouped.groups = 2;
  line.extents[1] = line.kernel[1] = line.strides[1] = 1;
  line.low[1] = line.high[1] = 0;
  volume.extents[0] = 4;
  volume.kernel[0] = 2;
  volume.low[0] = 1;
  plain.low = plain.high = {0, 0, 0};
  for (const bool is_known : {true, false}) {
    const ZeroPoints points{9, {-3, 0, 5, 100, -128, 1}, is_known};
    check_convolution(grouped, 2, points);
    check_convolution(line, 1, points);
    check_convolution(volume, 3, points);
    check_convolution(plain, 2, points);
  }
  Convolution cut = kImage;  // negative padding cuts elements off
  cut.low[1] = -1;
  cut.high[2] = -2;
  check_convolution(cut, 2, {9, {-3}});
}

TEST_CASE("zero points that do not fit a convolution are refused") {
  const auto of = [](std::int64_t type, const Integers& dims) {
    return refusal({{"ConvInteger", {"x", "w", "a"}, {"y"}},
                    {onnx_value("x", kOnnxUint8, {1, 1, 3, 3}), onnx_value("w", kOnnxInt8, {1, 1, 2, 2}),
                     onnx_value("a", type, {dims.begin(), dims.end()})}});
  };
  CHECK(of(kOnnxUint8, {2}) == ": found a zero point u8[2], expected one element for all images");
  CHECK(of(kOnnxInt8, {}) == ": found a zero point i8[], expected u8 like the images u8[1x1x3x3]");
}

TEST_CASE("QLinearConv scales the sums per filter, and saturates") {
  Convolution c = kImage;
  c.batch = 1;
  const Integers x = some_bytes(c.channels * 72, false, 3), w = some_bytes(c.filters * c.channels * 6, true, 9);
  const std::vector<float> scales = {0.01F, 0.5F, 0.002F, 0.03F, 0.25F, 0.0001F};
  const OneNode model{{"QLinearConv",
                       {"x", "xs", "a", "w", "ws", "b", "ys", "z"},
                       {"y"},
                       {onnx_ints("strides", {2, 1}), onnx_ints("dilations", {1, 2}), onnx_ints("pads", {1, 0, 2, 3})}},
                      {onnx_value("x", kOnnxUint8, {1, 4, 9, 8})},
                      {onnx_tensor("xs", {}, std::vector<float>{0.5F}), onnx_tensor("a", kOnnxUint8, {}, raw({130})),
                       onnx_tensor("w", kOnnxInt8, {6, 4, 3, 2}, raw(w)), onnx_tensor("ws", {6}, scales),
                       onnx_tensor("b", kOnnxInt8, {6}, raw({0, 0, 0, 0, 0, 0})),
                       onnx_tensor("ys", {}, std::vector<float>{2}), onnx_tensor("z", kOnnxUint8, {}, raw({100}))}};
  const Integers sums = convolve(c, x, 130, w, Integers(6, 0));
  const std::int64_t per_filter = c.output(1) * c.output(2);
  Integers expected;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const float factor = 0.5F * scales[i / static_cast<std::size_t>(per_filter)] / 2.0F;
    const float steps = std::nearbyint(static_cast<float>(sums[i]) * factor) + 100.0F;
    expected.push_back(static_cast<std::int64_t>(std::fmin(std::fmax(steps, 0.0F), 255.0F)));
  }
  CHECK(reference::read_all<std::int64_t>(run_node(model, {byte_tensor({1, 4, 9, 8}, false, x)})[0]) == expected);
}

}  // namespace
}  // namespace millrace::test
