// SPDX-License-Identifier: Apache-2.0
// The definitions of conv2d and conv2d_i32: their type rules and the loop nest that they request.
#include <fmt/format.h>

#include "ops/request.h"
#include "ops/window.h"

namespace millrace {

using namespace ops;

namespace {

WindowDims window_dims(Types operands, const Conv2dAttrs& attrs) {
  WindowDims dims =
      make_window_dims(operands[0].shape, {operands[1].shape[2], operands[1].shape[3]}, attrs.strides, attrs.padding);
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i].dilation = attrs.dilations[i];
  return dims;
}

Status expect_groups(Types operands, std::int64_t groups, std::vector<SizeRequirement>& needed) {
  if (groups < 1) return invalid_argument(fmt::format("groups is {}, expected 1 or more; correct it", groups));
  const SizeExpr& filters = operands[1].shape[0];
  const SizeExpr& channels = operands[0].shape[1];
  if (operands[1].shape[1] * groups != channels) {
    return invalid_argument(fmt::format("operand 1 is {}, expected {} channels in dim 1 like operand 0, {}{}; {}",
                                        operands[1].to_text(), floor_div(channels, groups).to_text(),
                                        operands[0].to_text(), groups == 1 ? "" : fmt::format(", in {} groups", groups),
                                        "weights are o, c, kh, kw"));
  }
  if (groups == 1 || require_at_most(filters, floor_div(filters, groups) * groups, needed)) return {};
  return invalid_argument(
      fmt::format("operand 1 is {}, expected the filters in dim 0 to be a multiple of the {} groups; change groups",
                  operands[1].to_text(), groups));
}

/// Checks all but the dtypes.
InferResult infer_shape(Types operands, const Conv2dAttrs& attrs, DType result) {
  MILLRACE_TRY(expect_rank(operands, 0, 4, "n, c, h, w"));
  MILLRACE_TRY(expect_rank(operands, 1, 4, "o, c, kh, kw"));
  MILLRACE_TRY(check_window_attributes(attrs.strides, attrs.padding));
  MILLRACE_TRY(expect_entries("dilations", attrs.dilations.size(), 2, "h, w"));
  MILLRACE_TRY(expect_at_least("dilations", attrs.dilations, 1));
  std::vector<SizeRequirement> needed;
  MILLRACE_TRY(expect_groups(operands, attrs.groups, needed));
  const WindowDims dims = window_dims(operands, attrs);
  MILLRACE_TRY(expect_window_fits(operands, dims, needed));
  const Shape shape({operands[0].shape[0], operands[1].shape[0], dims[0].output(), dims[1].output()});
  return Inference({{result, shape}}, std::move(needed));
}

InferResult infer_conv2d(Types operands, const Attributes& attributes) {
  MILLRACE_TRY(expect_dtype(operands, 0, kArithmetic));
  if (operands[1].dtype != operands[0].dtype) {
    return invalid_argument(fmt::format("operand 1 is {}, expected {} like operand 0; insert a cast",
                                        operands[1].to_text(), to_text(operands[0].dtype)));
  }
  return infer_shape(operands, std::get<Conv2dAttrs>(attributes), operands[0].dtype);
}

InferResult infer_conv2d_i32(Types operands, const Attributes& attributes) {
  MILLRACE_TRY(expect_dtype(operands, 0, kBytes));
  MILLRACE_TRY(expect_dtype(operands, 1, kBytes));
  return infer_shape(operands, std::get<Conv2dAttrs>(attributes), DType::kI32);
}

/// y[n, g, o, i, j] = sum over c, kh, kw of x[n, g, c, i * sh + kh * dh - ph, j * sw + kw * dw - pw] * weights[g, o, c,
/// kh, kw], where elements outside x are 0, and (g, o) and (g, c) are a single dim each in memory. Accumulation and
/// error bound are those of dot. conv2d_i32 multiplies and adds in i32.
Result<std::vector<KernelRequest>> build_conv2d(const OpInstance& node) {
  const auto& attrs = std::get<Conv2dAttrs>(node.attributes);
  const WindowDims dims = window_dims(node.operands, attrs);
  const Shape& out = node.results[0].shape;
  LoopKernelBuilder nest(std::string(node.results[0].dtype == node.operands[0].dtype ? "conv2d" : "conv2d_i32"));
  const SizeExpr group_filters = floor_div(out[1], attrs.groups), group_channels = node.operands[1].shape[1];
  const bool has_groups = attrs.groups > 1;
  const AffineIndex n = nest.parallel("n", out[0]);
  const AffineIndex g = has_groups ? nest.parallel("g", attrs.groups) : n;
  const AffineIndex o = nest.parallel("o", has_groups ? group_filters : out[1]);
  const AffineIndex i = nest.parallel("i", out[2]), j = nest.parallel("j", out[3]);
  const AffineIndex c = nest.reduction("c", group_channels);
  const AffineIndex kh = nest.reduction("kh", dims[0].window), kw = nest.reduction("kw", dims[1].window);
  const auto in_group = [&](const AffineIndex& dim, const SizeExpr& size) { return has_groups ? g * size + dim : dim; };
  LoadOptions options;
  if (dims[0].is_padded() || dims[1].is_padded()) {
    options.fill = Scalar::from_int(body_dtype(node.operands[0].dtype), 0);
  }
  const BodyValue x =
      nest.load(nest.term(), nest.operand("x0", node.operands[0]),
                {n, in_group(c, group_channels), dims[0].walked_by(i, kh), dims[1].walked_by(j, kw)}, options);
  const BodyValue weight =
      nest.load(nest.term(), nest.operand("x1", node.operands[1]), {in_group(o, group_filters), c, kh, kw});
  BodyBuilder& term = nest.term();
  const DType accumulator = body_dtype(node.results[0].dtype);
  const BodyValue product = term.mul(term.convert(accumulator, x), term.convert(accumulator, weight));
  const BodyValue sum = nest.reduce(ReductionKind::kSum, product);
  nest.store("y0", node.results[0], {n, in_group(o, group_filters), i, j}, sum);
  return finish_request(nest);
}

}  // namespace

OpDef define_conv2d() { return {infer_conv2d, nullptr, nullptr, build_conv2d}; }
OpDef define_conv2d_i32() { return {infer_conv2d_i32, nullptr, nullptr, build_conv2d}; }

}  // namespace millrace
