// SPDX-License-Identifier: Apache-2.0
// Imports linear quantization and its inverse, with scales per tensor, per index of an axis, or per block along it.
#include <fmt/format.h>

#include "graph/import/onnx/ops/quantize/packed.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/quantize.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// How scales and zero points spread over x.
struct Spread {
  Shape x;
  std::int64_t axis = 0;
  std::int64_t block = 0;  // elements along the axis that share a scale; 0: each index has its own
};

Result<Spread> read_spread(OnnxNodeContext& node, const Shape& x, const Shape& scale) {
  Spread spread{x};
  if (node.version() >= 21) {
    MILLRACE_TRY_ASSIGN(spread.block, node.integer_attribute("block_size", 0));
    if (spread.block < 0) {
      return node.attribute_error("block_size", fmt::format("found {}, expected 0 or more", spread.block));
    }
  }
  // One scale for all elements needs no axis, and x may be a scalar.
  if (scale.num_elements().is(1) && spread.block == 0) {
    node.ignore_attribute("axis");
    return spread;
  }
  if (node.version() < 13) {
    return node.operand_error(1, fmt::format("is {}, expected a scalar before version 13", scale.to_text()));
  }
  MILLRACE_TRY_ASSIGN(spread.axis, node.axis_attribute("axis", x.rank(), 1));
  return spread;
}

/// A scale or zero point in a form that broadcasts with x.
Result<Tensor> spread_over(OnnxNodeContext& node, std::size_t operand, Tensor parameter, const Spread& spread) {
  const Shape& shape = parameter.shape();
  const auto axis = static_cast<std::size_t>(spread.axis);
  if (spread.block == 0) {
    if (shape.num_elements().is(1)) return node.built(reshape(parameter, {}));
    if (shape.rank() != 1 || shape[0] != spread.x[axis]) {
      return node.operand_error(operand, fmt::format("is {}, expected one element, or one per index of axis {} of {}",
                                                     parameter.type().to_text(), axis, spread.x.to_text()));
    }
    std::vector<SizeExpr> dims(spread.x.rank() - axis, SizeExpr(1));
    dims[0] = shape[0];
    return node.built(reshape(parameter, Shape(std::move(dims))));
  }
  Shape expected = spread.x;
  expected[axis] = ceil_div(spread.x[axis], spread.block);
  if (shape != expected) {
    return node.operand_error(operand, fmt::format("is {}, expected {}, one element per block of {} along axis {}",
                                                   parameter.type().to_text(), expected.to_text(), spread.block, axis));
  }
  const Tensor index = iota(node.graph(), DType::kI64, {spread.x[axis]}, 0) / spread.block;
  return node.built(gather(parameter, index, spread.axis));
}

/// The dtype that an attribute names; `otherwise` if the attribute is missing or 0.
Result<DType> dtype_or(OnnxNodeContext& node, std::string_view name, DType otherwise) {
  if (!node.has_attribute(name)) return otherwise;
  MILLRACE_TRY_ASSIGN(const std::int64_t type, node.integer_attribute(name, 0));
  if (type == 0) return otherwise;
  return node.dtype_attribute(name);
}

DType wide(DType dtype) { return dtype == DType::kF64 ? dtype : DType::kF32; }

/// Rounds to integers, adds the zero point, and saturates.
Tensor quantize(Tensor quotient, Tensor zero_point, DType to) {
  const DType dtype = wide(quotient.dtype());
  const Tensor steps = round(cast(quotient, dtype));
  return cast(zero_point.builder() == nullptr ? steps : steps + cast(zero_point, dtype), to);
}

}  // namespace

/// The quotient is rounded to the scale's dtype before it becomes an integer, unless `precision` names another dtype.
Result<OnnxResults> import_quantize_linear(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor scale, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const Tensor zero_point, node.optional_tensor(2));
  MILLRACE_TRY_ASSIGN(const Spread spread, read_spread(node, x.shape(), scale.shape()));
  if (!is_float(scale.dtype())) {
    return node.operand_error(1, fmt::format("is {}, expected floats", scale.type().to_text()));
  }
  node.ignore_attribute("saturate");  // only for 8-bit floats
  const bool has_zero_point = zero_point.builder() != nullptr;
  DType to = has_zero_point ? zero_point.dtype() : DType::kU8, precision = scale.dtype();
  if (node.version() >= 21) {
    MILLRACE_TRY_ASSIGN(const DType named, dtype_or(node, "output_dtype", to));
    if (has_zero_point && named != to) {
      return node.attribute_error(
          "output_dtype", fmt::format("found {}, expected {} like the zero point", to_text(named), to_text(to)));
    }
    to = named;
  }
  if (node.version() >= 23) {
    MILLRACE_TRY_ASSIGN(precision, dtype_or(node, "precision", precision));
  }
  if (!is_integer(to) || !is_float(precision)) {
    return unimplemented(fmt::format(": quantizes to {} from a quotient in {}, expected integers from floats",
                                     to_text(to), to_text(precision)));
  }
  MILLRACE_TRY_ASSIGN(const Tensor divisor, spread_over(node, 1, scale, spread));
  const Tensor quotient = cast(x, precision) / cast(divisor, precision);
  MILLRACE_TRY_ASSIGN(const Tensor checked, node.built(quotient));
  if (!has_zero_point) return quantize(checked, {}, to);
  MILLRACE_TRY_ASSIGN(const Tensor offset, spread_over(node, 2, zero_point, spread));
  return quantize(checked, offset, to);
}

Result<OnnxResults> import_dequantize_linear(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, quantized_tensor(node, 0));
  MILLRACE_TRY_ASSIGN(const Tensor scale, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const Spread spread, read_spread(node, x.shape(), scale.shape()));
  const bool holds_codes = is_integer(x.dtype()) || node.value(0).foreign() != nullptr;
  if (!holds_codes || !is_float(scale.dtype())) {
    return invalid_argument(fmt::format(": found {} and scales {}, expected integers and floats", x.type().to_text(),
                                        scale.type().to_text()));
  }
  DType to = scale.dtype();
  if (node.version() >= 23) {
    MILLRACE_TRY_ASSIGN(to, dtype_or(node, "output_dtype", to));
  }
  const DType dtype = wide(scale.dtype());
  MILLRACE_TRY_ASSIGN(const Tensor factor, spread_over(node, 1, scale, spread));
  Tensor steps = cast(x, dtype);
  if (node.has(2)) {
    MILLRACE_TRY_ASSIGN(const Tensor zero_point, quantized_tensor(node, 2));
    if (zero_point.dtype() != x.dtype()) {
      return node.operand_error(
          2, fmt::format("is {}, expected {} like operand 0", zero_point.type().to_text(), to_text(x.dtype())));
    }
    MILLRACE_TRY_ASSIGN(const Tensor offset, spread_over(node, 2, zero_point, spread));
    steps = steps - cast(offset, dtype);
  }
  return cast(steps * cast(factor, dtype), to);
}

/// Quantizes to u8. Scale and zero point follow from the minimum and maximum of the elements and 0.
Result<OnnxResults> import_dynamic_quantize_linear(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  if (x.dtype() != DType::kF32) return node.operand_error(0, fmt::format("is {}, expected f32", x.type().to_text()));
  const Tensor flat = reshape(x, {x.shape().num_elements()});
  const Tensor high = max(reduce_max(flat, {0}), 0), low = min(reduce_min(flat, {0}), 0);
  const Tensor range = high - low;
  const Tensor scale = where(equal(range, 0), 1, range) / 255.0;
  const Tensor zero_point = cast(round(clamp(neg(low / scale), 0, 255)), DType::kU8);
  MILLRACE_TRY_ASSIGN(const Tensor quotient, node.built(x / scale));
  return OnnxResults{quantize(quotient, zero_point, DType::kU8), scale, zero_point};
}

}  // namespace millrace
