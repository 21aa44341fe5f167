// SPDX-License-Identifier: Apache-2.0
// Imports products of quantized matrices and convolutions of quantized images, which add up in i32.
#include <numeric>

#include <fmt/format.h>

#include "graph/composites/composite.h"
#include "graph/import/onnx/ops/image/unfold.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/quantize.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// Operands of a product, by their index in the node. A missing one has no builder.
struct Quantized {
  Tensor elements, scale, zero_point;
};

bool is_byte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

Result<Tensor> byte_tensor(OnnxNodeContext& node, std::size_t operand) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(operand));
  if (is_byte(x.dtype())) return x;
  return node.operand_error(operand, fmt::format("is {}, expected i8 or u8", x.type().to_text()));
}

/// A zero point that is known to be 0 counts as missing.
Result<Tensor> read_zero_point(OnnxNodeContext& node, std::size_t operand) {
  MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> known, node.known(operand));
  if (known) {
    const std::vector<double> numbers = numbers_of(*known);
    if (std::ranges::all_of(numbers, [](double number) { return number == 0; })) return Tensor();
  }
  return node.optional_tensor(operand);
}

/// One element, or one per row or column of matrices, in a form that broadcasts with them.
Tensor per_line(Tensor parameter, bool is_row) {
  const Shape& shape = parameter.shape();
  if (shape.num_elements().is(1)) return reshape(parameter, {});
  return is_row && shape.rank() == 1 ? unsqueeze(parameter, {1}) : parameter;
}

/// matmul in i32. Both have at least two dims.
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

/// The sum of (x - a) * (y - b) is that of x * y, less a times the sums of y and b times those of x, plus k * a * b.
Result<Tensor> multiply(OnnxNodeContext& node, const Quantized& x, const Quantized& y) {
  for (const Tensor& tensor : {x.elements, y.elements}) {
    if (tensor.shape().rank() == 0) return invalid_argument(": found a scalar, expected matrices or vectors");
  }
  const bool is_row = x.elements.shape().rank() == 1, is_column = y.elements.shape().rank() == 1;
  Tensor rows = is_row ? unsqueeze(x.elements, {0}) : x.elements;
  const Tensor columns = is_column ? unsqueeze(y.elements, {1}) : y.elements;
  MILLRACE_TRY(node.match_dim(rows, rows.shape().rank() - 1, columns.shape()[columns.shape().rank() - 2]));
  MILLRACE_TRY_ASSIGN(Tensor product, multiply_bytes(node, rows, columns));
  const auto i32 = [](Tensor tensor) { return cast(tensor, DType::kI32); };
  const bool has_a = x.zero_point.builder() != nullptr, has_b = y.zero_point.builder() != nullptr;
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

/// [o] as [o, 1, ...], for x[n, o, ...] or weights[o, ...]; one element stays a scalar.
Tensor per_channel(Tensor parameter, std::size_t num_trailing) {
  if (parameter.shape().num_elements().is(1)) return reshape(parameter, {});
  std::vector<SizeExpr> dims(num_trailing + 1, SizeExpr(1));
  dims[0] = parameter.shape().num_elements();
  return reshape(parameter, Shape(std::move(dims)));
}

/// x * weights in i32. Padding is the zero point of x, so that it counts as 0.
Result<Tensor> convolve_bytes(OnnxNodeContext& node, const Quantized& x, const Quantized& weights) {
  const Shape &from = x.elements.shape(), &shape = weights.elements.shape();
  if (from.rank() < 3 || from.rank() >= kMaxRank || shape.rank() != from.rank()) {
    return invalid_argument(fmt::format(": found {} and weights {}, expected one rank from 3 to {}",
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
  MILLRACE_TRY_ASSIGN(const OnnxWindow window, read_window(node, from, std::move(kernel)));
  MILLRACE_TRY_ASSIGN(const std::int64_t groups, node.integer_attribute("group", 1));
  const auto centre = [](const Quantized& operand) {
    const Tensor wide = cast(operand.elements, DType::kI32);
    if (operand.zero_point.builder() == nullptr) return wide;
    return wide - per_channel(cast(operand.zero_point, DType::kI32), operand.elements.shape().rank() - 1);
  };
  if (x.zero_point.builder() != nullptr && !x.zero_point.shape().num_elements().is(1)) {
    return invalid_argument(
        fmt::format(": found a zero point {}, expected one element for all images", x.zero_point.type().to_text()));
  }
  MILLRACE_TRY_ASSIGN(const Tensor images, node.built(centre(x)));
  MILLRACE_TRY_ASSIGN(const Tensor filters, node.built(centre(weights)));
  return node.built(convolve(images, filters, window, groups));
}

}  // namespace

Result<OnnxResults> import_matmul_integer(OnnxNodeContext& node) {
  Quantized x, y;
  MILLRACE_TRY_ASSIGN(x.elements, byte_tensor(node, 0));
  MILLRACE_TRY_ASSIGN(y.elements, byte_tensor(node, 1));
  MILLRACE_TRY_ASSIGN(x.zero_point, read_zero_point(node, 2));
  MILLRACE_TRY_ASSIGN(y.zero_point, read_zero_point(node, 3));
  MILLRACE_TRY_ASSIGN(const Tensor sums, multiply(node, x, y));
  return sums;
}

Result<OnnxResults> import_conv_integer(OnnxNodeContext& node) {
  Quantized x, weights;
  MILLRACE_TRY_ASSIGN(x.elements, byte_tensor(node, 0));
  MILLRACE_TRY_ASSIGN(weights.elements, byte_tensor(node, 1));
  MILLRACE_TRY_ASSIGN(x.zero_point, read_zero_point(node, 2));
  MILLRACE_TRY_ASSIGN(weights.zero_point, read_zero_point(node, 3));
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
  MILLRACE_TRY_ASSIGN(read.x.zero_point, read_zero_point(node, 2));
  MILLRACE_TRY_ASSIGN(read.y.elements, byte_tensor(node, 3));
  MILLRACE_TRY_ASSIGN(read.y.scale, node.tensor(4));
  MILLRACE_TRY_ASSIGN(read.y.zero_point, read_zero_point(node, 5));
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
