// SPDX-License-Identifier: Apache-2.0
// Imports products of quantized matrices and convolutions of quantized images, which add up in i32.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "graph/composites/composite.h"
#include "graph/import/onnx/ops/image/unfold.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/quantize.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// One side of a product, with its scale and zero point. A tensor that is missing has no builder.
struct Quantized {
  Tensor elements, scale, zero_point;
  std::optional<std::int64_t> known_zero_point;  // if the model stores it as one number
};

bool is_byte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

Result<Tensor> byte_tensor(OnnxNodeContext& node, std::size_t operand) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(operand));
  if (is_byte(x.dtype())) return x;
  return node.operand_error(operand, fmt::format("is {}, expected i8 or u8", x.type().to_text()));
}

/// A zero point that is known to be 0 counts as missing.
Status read_zero_point(OnnxNodeContext& node, std::size_t operand, Quantized& read) {
  MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> known, node.known(operand));
  if (known) {
    const std::vector<double> numbers = numbers_of(*known);
    if (std::ranges::all_of(numbers, [](double number) { return number == 0; })) return {};
    if (numbers.size() == 1) read.known_zero_point = static_cast<std::int64_t>(numbers[0]);
  }
  MILLRACE_TRY_ASSIGN(read.zero_point, node.optional_tensor(operand));
  return {};
}

bool has_zero_point(const Quantized& operand) { return operand.zero_point.builder() != nullptr; }
Tensor i32(Tensor tensor) { return cast(tensor, DType::kI32); }

/// Reshapes one element, or one per row or column of matrices, so that it broadcasts with the matrices.
Tensor per_line(Tensor parameter, bool is_row) {
  const Shape& shape = parameter.shape();
  if (shape.num_elements().is(1)) return reshape(parameter, {});
  return is_row && shape.rank() == 1 ? unsqueeze(parameter, {1}) : parameter;
}

/// matmul in i32. Both operands have at least two dims.
Result<Tensor> multiply_bytes(OnnxNodeContext& node, Tensor x, Tensor y) {
  const auto batch_of = [](const Shape& shape) {
    return Shape(std::vector<SizeExpr>(shape.dims().begin(), shape.dims().end() - 2));
  };
  DotAttrs attributes;
  const auto x_rank = static_cast<std::int64_t>(x.shape().rank());
  if (y.shape().rank() == 2) {
    attributes.x_contract = {x_rank - 1};
    attributes.y_contract = {0};
    return node.built(dot_i32(x, y, std::move(attributes)));
  }
  const Shape batches[] = {batch_of(x.shape()), batch_of(y.shape())};
  const std::optional<Shape> batch = joint_shape(batches);
  if (!batch) {
    return invalid_argument(fmt::format(": found {} and {}, expected batch dims that are equal or 1",
                                        x.type().to_text(), y.type().to_text()));
  }
  const auto spread = [&](Tensor tensor) {
    std::vector<SizeExpr> dims = batch->dims();
    dims.insert(dims.end(), tensor.shape().dims().end() - 2, tensor.shape().dims().end());
    return broadcast_to(tensor, Shape(std::move(dims)));
  };
  const auto rank = static_cast<std::int64_t>(batch->rank());
  attributes.x_batch.resize(batch->rank());
  std::iota(attributes.x_batch.begin(), attributes.x_batch.end(), 0);
  attributes.y_batch = attributes.x_batch;
  attributes.x_contract = {rank + 1};
  attributes.y_contract = {rank};
  return node.built(dot_i32(spread(x), spread(y), std::move(attributes)));
}

/// sum (x - a) * (y - b) = sum x * y - a * sum y - b * sum x + k * a * b, for sums over k products.
Result<Tensor> multiply(OnnxNodeContext& node, const Quantized& x, const Quantized& y) {
  for (const Tensor& tensor : {x.elements, y.elements}) {
    if (tensor.shape().rank() == 0) return invalid_argument(": found a scalar, expected matrices or vectors");
  }
  const bool is_row = x.elements.shape().rank() == 1, is_column = y.elements.shape().rank() == 1;
  Tensor rows = is_row ? unsqueeze(x.elements, {0}) : x.elements;
  const Tensor columns = is_column ? unsqueeze(y.elements, {1}) : y.elements;
  MILLRACE_TRY(node.match_dim(rows, rows.shape().rank() - 1, columns.shape()[columns.shape().rank() - 2]));
  MILLRACE_TRY_ASSIGN(Tensor product, multiply_bytes(node, rows, columns));
  const bool has_a = has_zero_point(x), has_b = has_zero_point(y);
  const Tensor a = has_a ? i32(per_line(x.zero_point, true)) : Tensor();
  const Tensor b = has_b ? i32(per_line(y.zero_point, false)) : Tensor();
  if (has_a) product = product - a * reduce_sum(i32(columns), {-2}, true);
  if (has_b) product = product - b * reduce_sum(i32(rows), {-1}, true);
  if (has_a && has_b) {
    const SizeExpr& length = rows.shape()[rows.shape().rank() - 1];
    product = product + a * b * i32(size_of(node.graph(), length));
  }
  if (is_row && is_column) return node.built(squeeze(product, {-2, -1}));
  if (is_row) return node.built(squeeze(product, {-2}));
  return node.built(is_column ? squeeze(product, {-1}) : product);
}

/// Scales sums of products and rounds them to the dtype of the zero point.
Tensor requantize(Tensor sums, Tensor factor, Tensor zero_point, Tensor spread_zero_point) {
  const Tensor steps = round(cast(sums, DType::kF32) * factor);
  return cast(steps + cast(spread_zero_point, DType::kF32), zero_point.dtype());
}

/// [o] as [o, 1, ...], for x[n, o, ...] or weights[o, ...]; one element becomes a scalar.
Tensor per_channel(Tensor parameter, std::size_t num_trailing) {
  if (parameter.shape().num_elements().is(1)) return reshape(parameter, {});
  std::vector<SizeExpr> dims(num_trailing + 1, SizeExpr(1));
  dims[0] = parameter.shape().num_elements();
  return reshape(parameter, Shape(std::move(dims)));
}

/// Pads images with their zero point, so that padding counts as 0, and removes the padding from `window`.
Tensor pad_images(const Quantized& x, OnnxWindow& window) {
  const Shape& shape = x.elements.shape();
  std::vector<SizeExpr> low(shape.rank()), high = low, extents = shape.dims();
  for (std::size_t d = 0; d + 2 < shape.rank(); ++d) {
    low[d + 2] = std::exchange(window.low[d], 0);
    high[d + 2] = std::exchange(window.high[d], 0);
  }
  if (x.known_zero_point) return pad_or_cut(x.elements, low, high, *x.known_zero_point);
  const Tensor padded = pad_or_cut(x.elements, low, high);
  extents[0] = extents[1] = 1;
  const Tensor is_inside = x.elements.builder()->fill(DType::kBool, Shape(std::move(extents)), 1);
  return where(pad_or_cut(is_inside, low, high), padded, reshape(x.zero_point, {}));
}

bool is_padded(const OnnxWindow& window) {
  const auto is_zero = [](std::int64_t count) { return count == 0; };
  return !std::ranges::all_of(window.low, is_zero) || !std::ranges::all_of(window.high, is_zero);
}

/// Over each window of k products: sum (x - a) * (w - b) = sum x * w - a * sum w - b * sum x + k * a * b.
Tensor convolve_centred(const Quantized& x, const Quantized& weights, OnnxWindow window, std::int64_t groups) {
  const bool has_a = has_zero_point(x), has_b = has_zero_point(weights);
  const Tensor images = has_a && is_padded(window) ? pad_images(x, window) : x.elements;
  if (!images.is_valid()) return images;
  const Shape& shape = weights.elements.shape();
  const std::size_t num_trailing = shape.rank() - 2;
  Tensor sums = convolve(images, weights.elements, window, groups);
  if (!sums.is_valid()) return sums;
  const Tensor a = has_a ? reshape(i32(x.zero_point), {}) : Tensor();
  const Tensor b = has_b ? per_channel(i32(weights.zero_point), num_trailing) : Tensor();
  if (has_a) {
    std::vector<std::int64_t> axes(shape.rank() - 1);
    std::iota(axes.begin(), axes.end(), 1);
    const Tensor of_filters = reduce_sum(i32(weights.elements), std::move(axes));
    sums = sums - a * per_channel(of_filters, num_trailing);
  }
  if (has_b) {
    // Without groups, all filters read the same windows, so one filter of ones suffices.
    std::vector<SizeExpr> dims = shape.dims();
    if (groups == 1) dims[0] = 1;
    const Tensor ones = images.builder()->fill(DType::kU8, Shape(std::move(dims)), 1);
    sums = sums - b * convolve(images, ones, window, groups);
  }
  if (has_a && has_b) {
    SizeExpr count = 1;
    for (std::size_t d = 1; d < shape.rank(); ++d) count = count * shape[d];
    sums = sums + a * b * i32(size_of(*images.builder(), count));
  }
  return sums;
}

/// x * weights in i32. Padding is the zero point of x, so that it counts as 0.
Result<Tensor> convolve_bytes(OnnxNodeContext& node, const Quantized& x, const Quantized& weights) {
  const Shape &from = x.elements.shape(), &shape = weights.elements.shape();
  if (from.rank() < 3 || from.rank() >= kMaxRank || shape.rank() != from.rank()) {
    return invalid_argument(fmt::format(": found {} and weights {}, expected equal ranks from 3 to {}",
                                        x.elements.type().to_text(), weights.elements.type().to_text(), kMaxRank - 1));
  }
  std::vector<std::int64_t> kernel;
  for (std::size_t d = 2; d < shape.rank(); ++d) {
    if (!shape[d].is_constant()) {
      return unimplemented(
          fmt::format(": found weights {}, expected windows of known size", weights.elements.type().to_text()));
    }
    kernel.push_back(shape[d].constant());
  }
  MILLRACE_TRY_ASSIGN(OnnxWindow window, read_window(node, from, std::move(kernel)));
  MILLRACE_TRY_ASSIGN(const std::int64_t groups, node.integer_attribute("group", 1));
  if (has_zero_point(x)) {
    const TensorType& type = x.zero_point.type();
    if (!type.shape.num_elements().is(1)) {
      return invalid_argument(
          fmt::format(": found a zero point {}, expected one element for all images", type.to_text()));
    }
    if (type.dtype != x.elements.dtype()) {
      return invalid_argument(fmt::format(": found a zero point {}, expected {} like the images {}", type.to_text(),
                                          to_text(x.elements.dtype()), x.elements.type().to_text()));
    }
  }
  return node.built(convolve_centred(x, weights, std::move(window), groups));
}

}  // namespace

Result<OnnxResults> import_matmul_integer(OnnxNodeContext& node) {
  Quantized x, y;
  MILLRACE_TRY_ASSIGN(x.elements, byte_tensor(node, 0));
  MILLRACE_TRY_ASSIGN(y.elements, byte_tensor(node, 1));
  MILLRACE_TRY(read_zero_point(node, 2, x));
  MILLRACE_TRY(read_zero_point(node, 3, y));
  MILLRACE_TRY_ASSIGN(const Tensor sums, multiply(node, x, y));
  return sums;
}

Result<OnnxResults> import_conv_integer(OnnxNodeContext& node) {
  Quantized x, weights;
  MILLRACE_TRY_ASSIGN(x.elements, byte_tensor(node, 0));
  MILLRACE_TRY_ASSIGN(weights.elements, byte_tensor(node, 1));
  MILLRACE_TRY(read_zero_point(node, 2, x));
  MILLRACE_TRY(read_zero_point(node, 3, weights));
  MILLRACE_TRY_ASSIGN(const Tensor sums, convolve_bytes(node, x, weights));
  return sums;
}

namespace {

/// The two operands of a QLinear op, and the scale and zero point of its result.
struct QuantizedProduct {
  Quantized x, y;
  Tensor scale, zero_point;
};

Result<QuantizedProduct> read_product(OnnxNodeContext& node) {
  QuantizedProduct read;
  MILLRACE_TRY_ASSIGN(read.x.elements, byte_tensor(node, 0));
  MILLRACE_TRY_ASSIGN(read.x.scale, node.tensor(1));
  MILLRACE_TRY(read_zero_point(node, 2, read.x));
  MILLRACE_TRY_ASSIGN(read.y.elements, byte_tensor(node, 3));
  MILLRACE_TRY_ASSIGN(read.y.scale, node.tensor(4));
  MILLRACE_TRY(read_zero_point(node, 5, read.y));
  MILLRACE_TRY_ASSIGN(read.scale, node.tensor(6));
  MILLRACE_TRY_ASSIGN(read.zero_point, byte_tensor(node, 7));
  return read;
}

Tensor f32(Tensor x) { return cast(x, DType::kF32); }

}  // namespace

Result<OnnxResults> import_qlinear_matmul(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const QuantizedProduct product, read_product(node));
  MILLRACE_TRY_ASSIGN(const Tensor sums, multiply(node, product.x, product.y));
  const Tensor factor =
      f32(per_line(product.x.scale, true)) * f32(per_line(product.y.scale, false)) / f32(per_line(product.scale, true));
  return requantize(sums, factor, product.zero_point, per_line(product.zero_point, true));
}

Result<OnnxResults> import_qlinear_conv(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const QuantizedProduct product, read_product(node));
  MILLRACE_TRY_ASSIGN(Tensor sums, convolve_bytes(node, product.x, product.y));
  if (node.has(8)) {
    MILLRACE_TRY_ASSIGN(const Tensor bias, node.tensor(8));
    MILLRACE_TRY_ASSIGN(sums, node.built(add_channels(sums, bias)));
  }
  const std::size_t num_trailing = sums.shape().rank() - 2;
  const Tensor factor = f32(reshape(product.x.scale, {})) * f32(per_channel(product.y.scale, num_trailing)) /
                        f32(reshape(product.scale, {}));
  return requantize(sums, factor, product.zero_point, reshape(product.zero_point, {}));
}

}  // namespace millrace
