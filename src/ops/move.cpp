// SPDX-License-Identifier: Apache-2.0
// The definitions of pad and concat, which copy elements to other places.
#include <fmt/format.h>

#include "ops/infer.h"
#include "ops/pad.h"
#include "ops/request.h"

namespace millrace {

using namespace ops;

namespace {

InferResult infer_pad(Types operands, const Attributes& attributes) {
  const auto& attrs = std::get<PadAttrs>(attributes);
  const Shape& shape = operands[0].shape;
  const std::string dims_text = fmt::format("the dims of operand 0, {}", operands[0].to_text());
  MILLRACE_TRY(expect_entries("low", attrs.low.size(), shape.rank(), dims_text));
  MILLRACE_TRY(expect_entries("high", attrs.high.size(), shape.rank(), dims_text));
  const DType dtype = operands[0].dtype;
  if (!attrs.value.fits(dtype)) {
    return invalid_argument(fmt::format("value is {}, expected {}, as operand 0 is {}; correct it, or insert a cast",
                                        attrs.value.to_text(), fitting_numbers_text(dtype), operands[0].to_text()));
  }
  std::vector<SizeExpr> dims;
  std::vector<SizeRequirement> needed;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (!require_at_most(0, attrs.low[d], needed) || !require_at_most(0, attrs.high[d], needed)) {
      return invalid_argument(fmt::format("low[{}] is {} and high[{}] is {}, expected 0 or more; use slice to cut", d,
                                          attrs.low[d].to_text(), d, attrs.high[d].to_text()));
    }
    dims.push_back(attrs.low[d] + shape[d] + attrs.high[d]);
  }
  return Inference({{dtype, Shape(std::move(dims))}}, std::move(needed));
}

/// The pad value rounded to the operand's dtype, as bodies hold it.
Scalar pad_value(DType dtype, const Number& value) {
  HostEval host;
  const Scalar exact = !value.is_integer()       ? Scalar::of(value.as_double())
                       : value.fits(DType::kI64) ? Scalar::of(value.as_i64())
                                                 : Scalar::of(value.as_u64());
  return host.convert(body_dtype(dtype), host.convert(dtype, exact));
}

Result<std::vector<KernelRequest>> build_pad(const OpInstance& node) {
  const auto& attrs = std::get<PadAttrs>(node.attributes);
  LoopKernelBuilder nest("pad");
  const std::vector<AffineIndex> point = nest.parallel_dims(node.results[0].shape);
  std::vector<AffineIndex> indices;
  for (std::size_t d = 0; d < attrs.low.size(); ++d) indices.push_back(point[d] - attrs.low[d]);
  const BodyValue value = nest.load(nest.epilogue(), nest.operand("x0", node.operands[0]), std::move(indices),
                                    {.fill = pad_value(node.operands[0].dtype, attrs.value)});
  nest.store("y0", node.results[0], point, value);
  return finish_request(nest);
}

InferResult infer_concat(Types operands, const Attributes& attributes) {
  MILLRACE_TRY_ASSIGN(const std::size_t axis, resolve_axis(std::get<AxisAttrs>(attributes).axis, operands, 0, "axis"));
  TensorType result = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    TensorType expected = operands[0];
    const bool same_rank = operands[i].shape.rank() == expected.shape.rank();
    if (same_rank) expected.shape[axis] = operands[i].shape[axis];
    if (operands[i] != expected) {
      return invalid_argument(fmt::format("operand {} is {}, expected {} like operand 0, except along axis {}; {}", i,
                                          operands[i].to_text(), operands[0].to_text(), axis,
                                          operands[i].dtype != expected.dtype ? "insert a cast" : "reshape it"));
    }
    result.shape[axis] = result.shape[axis] + operands[i].shape[axis];
  }
  return std::vector<TensorType>{result};
}

/// One request per operand, each storing its slice of the result.
Result<std::vector<KernelRequest>> build_concat(const OpInstance& node) {
  const std::size_t axis = *resolve_axis(std::get<AxisAttrs>(node.attributes).axis, node.operands, 0, "axis");
  std::vector<KernelRequest> requests;
  SizeExpr start = 0;
  for (const TensorType& operand : node.operands) {
    LoopKernelBuilder nest("concat");
    std::vector<AffineIndex> indices = nest.parallel_dims(operand.shape);
    const BodyValue value = nest.load(nest.epilogue(), nest.operand("x0", operand), indices);
    indices[axis] = indices[axis] + start;
    nest.store("y0", node.results[0], std::move(indices), value);
    start = start + operand.shape[axis];
    MILLRACE_TRY_ASSIGN(LoopKernel kernel, nest.finish());
    requests.emplace_back(std::move(kernel));
  }
  return requests;
}

}  // namespace

Result<std::vector<KernelRequest>> build_pad_borders(const OpInstance& node) {
  const auto& attrs = std::get<PadAttrs>(node.attributes);
  const TensorType& type = node.results[0];
  std::vector<KernelRequest> requests;
  std::vector<SizeExpr> begin(type.shape.rank(), 0);
  Shape extents = type.shape;  // of the part that is not filled yet, which begins at `begin`
  const auto fill = [&](std::size_t axis, const SizeExpr& first, const SizeExpr& extent) -> Status {
    if (extent.is(0)) return {};
    Shape border = extents;
    border[axis] = extent;
    LoopKernelBuilder nest("pad");
    std::vector<AffineIndex> indices = nest.parallel_dims(border);
    for (std::size_t d = 0; d < indices.size(); ++d) indices[d] = indices[d] + (d == axis ? first : begin[d]);
    nest.store("y0", type, std::move(indices), nest.epilogue().constant_scalar(pad_value(type.dtype, attrs.value)));
    MILLRACE_TRY_ASSIGN(LoopKernel kernel, nest.finish());
    requests.emplace_back(std::move(kernel));
    return {};
  };
  for (std::size_t axis = 0; axis < type.shape.rank(); ++axis) {
    MILLRACE_TRY(fill(axis, 0, attrs.low[axis]));
    MILLRACE_TRY(fill(axis, type.shape[axis] - attrs.high[axis], attrs.high[axis]));
    begin[axis] = attrs.low[axis];
    extents[axis] = node.operands[0].shape[axis];
  }
  return requests;
}

OpDef define_pad() { return {infer_pad, nullptr, nullptr, build_pad}; }
OpDef define_concat() { return {infer_concat, nullptr, nullptr, build_concat}; }

}  // namespace millrace
