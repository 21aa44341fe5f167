// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/nest.h"
#include "ops/window.h"

namespace millrace {

using namespace ops;

namespace {

WindowDims window_dims(Types operands, const Conv2dAttrs& attrs) {
  return make_window_dims(operands[0].shape, {operands[1].shape[2], operands[1].shape[3]}, attrs.strides,
                          attrs.padding);
}

InferResult infer_conv2d(Types operands, const Attributes& attributes) {
  const auto& attrs = std::get<Conv2dAttrs>(attributes);
  MILLRACE_TRY(expect_dtype(operands, 0, kArithmetic));
  MILLRACE_TRY(expect_rank(operands, 0, 4, "n, c, h, w"));
  MILLRACE_TRY(expect_rank(operands, 1, 4, "o, c, kh, kw"));
  MILLRACE_TRY(check_window_attributes(attrs.strides, attrs.padding));
  if (operands[1].dtype != operands[0].dtype) {
    return invalid_argument(fmt::format("operand 1 is {}, expected {} like operand 0; insert a cast",
                                        operands[1].to_text(), to_text(operands[0].dtype)));
  }
  if (operands[1].shape[1] != operands[0].shape[1]) {
    return invalid_argument(fmt::format("operand 1 is {}, expected {} channels in dim 1 like operand 0, {}; {}",
                                        operands[1].to_text(), operands[0].shape[1].to_text(), operands[0].to_text(),
                                        "weights are o, c, kh, kw"));
  }
  const WindowDims dims = window_dims(operands, attrs);
  std::vector<SizeRequirement> needed;
  MILLRACE_TRY(expect_window_fits(operands, dims, needed));
  const Shape shape({operands[0].shape[0], operands[1].shape[0], dims[0].output(), dims[1].output()});
  return Inference({{operands[0].dtype, shape}}, std::move(needed));
}

/// y[n, o, i, j] = sum over c, kh, kw of x[n, c, i * sh + kh - ph, j * sw + kw - pw] * weights[o, c, kh, kw], where
/// what is outside of x is 0. Accumulated as dot is; the same error bound.
Result<std::vector<KernelRequest>> build_conv2d(const OpInstance& node) {
  const auto& attrs = std::get<Conv2dAttrs>(node.attributes);
  const WindowDims dims = window_dims(node.operands, attrs);
  const Shape& out = node.results[0].shape;
  Nest nest("conv2d");
  const auto n = nest.parallel("n", out[0]), o = nest.parallel("o", out[1]);
  const auto i = nest.parallel("i", out[2]), j = nest.parallel("j", out[3]);
  const auto c = nest.reduction("c", node.operands[0].shape[1]);
  const auto kh = nest.reduction("kh", dims[0].window), kw = nest.reduction("kw", dims[1].window);
  std::optional<Scalar> fill;
  if (dims[0].is_padded() || dims[1].is_padded()) fill = Scalar::from_int(body_dtype(node.operands[0].dtype), 0);
  const BodyValue x = nest.load(nest.term(), nest.operand(node.operands[0]),
                                {nest.along(n), nest.along(c), nest.index({{i, dims[0].stride}, {kh}}, -dims[0].low),
                                 nest.index({{j, dims[1].stride}, {kw}}, -dims[1].low)},
                                fill);
  const BodyValue weight = nest.load(nest.term(), nest.operand(node.operands[1]),
                                     {nest.along(o), nest.along(c), nest.along(kh), nest.along(kw)});
  const BodyValue sum = nest.reduce(ReductionKind::kSum, nest.term().mul(x, weight));
  nest.store(node.results[0], nest.identity(4), sum);
  return nest.finish();
}

}  // namespace

OpDef define_conv2d() {
  OpDef def;
  def.infer = infer_conv2d;
  def.build = build_conv2d;
  return def;
}

}  // namespace millrace
