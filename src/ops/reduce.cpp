// SPDX-License-Identifier: Apache-2.0
// The definitions of reductions over axes, and of argmax and argmin along one axis.
#include <algorithm>

#include <fmt/format.h>

#include "ops/infer.h"
#include "ops/request.h"

namespace millrace {

using namespace ops;

namespace {

Shape reduced_shape(const Shape& shape, const std::vector<std::size_t>& axes, bool keep_dims) {
  std::vector<SizeExpr> dims;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(axes, d) == axes.end()) {
      dims.push_back(shape[d]);
    } else if (keep_dims) {
      dims.emplace_back(1);
    }
  }
  return Shape(std::move(dims));
}

InferResult infer_reduce(Types operands, const Attributes& attributes, const DTypeSet& set) {
  const auto& attrs = std::get<ReduceAttrs>(attributes);
  MILLRACE_TRY(expect_dtype(operands, 0, set));
  if (attrs.axes.empty()) {
    return invalid_argument(
        fmt::format("axes is [], expected axes of operand 0, {}; name at least one", operands[0].to_text()));
  }
  MILLRACE_TRY_ASSIGN(const auto axes, resolve_axes(attrs.axes, operands, 0, "axes"));
  return std::vector<TensorType>{{operands[0].dtype, reduced_shape(operands[0].shape, axes, attrs.keep_dims)}};
}

/// A loop nest that loads its operand once per point. Kept dims are parallel, in order; `axes` are reductions.
struct ReduceNest {
  LoopKernelBuilder nest;
  BodyValue value;                  // the operand's element, in the term
  std::vector<AffineIndex> result;  // where the reduced value is stored

  ReduceNest(std::string name, const OpInstance& node, const std::vector<std::size_t>& axes, bool keep_dims)
      : nest(std::move(name)) {
    const Shape& shape = node.operands[0].shape;
    const auto is_reduced = [&](std::size_t d) { return std::ranges::find(axes, d) != axes.end(); };
    std::vector<AffineIndex> operand(shape.rank());
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      if (!is_reduced(d)) operand[d] = nest.parallel(fmt::format("d{}", d), shape[d]);
    }
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      if (is_reduced(d)) operand[d] = nest.reduction(fmt::format("r{}", d), shape[d]);
    }
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      if (!is_reduced(d)) result.push_back(operand[d]);
      if (is_reduced(d) && keep_dims) result.emplace_back();
    }
    value = nest.load(nest.term(), nest.operand("x0", node.operands[0]), std::move(operand));
  }
};

std::vector<std::size_t> axes_of(const OpInstance& node) {
  const auto& attrs = std::get<ReduceAttrs>(node.attributes);
  return *resolve_axes(attrs.axes, node.operands, 0, "axes");
}

template <ReductionKind kKind>
Result<std::vector<KernelRequest>> build_reduce(const OpInstance& node) {
  constexpr std::string_view kNames[] = {"reduce_sum", "reduce_prod", "reduce_min", "reduce_max"};
  const bool keep_dims = std::get<ReduceAttrs>(node.attributes).keep_dims;
  ReduceNest reduce(std::string(kNames[static_cast<std::size_t>(kKind)]), node, axes_of(node), keep_dims);
  reduce.nest.store("y0", node.results[0], reduce.result, reduce.nest.reduce(kKind, reduce.value));
  return finish_request(reduce.nest);
}

Result<std::vector<KernelRequest>> build_mean(const OpInstance& node) {
  const std::vector<std::size_t> axes = axes_of(node);
  ReduceNest reduce("reduce_mean", node, axes, std::get<ReduceAttrs>(node.attributes).keep_dims);
  SizeExpr count = 1;
  for (const std::size_t axis : axes) count = count * node.operands[0].shape[axis];
  const DType dtype = reduce.value.dtype;
  const BodyValue sum = reduce.nest.reduce(ReductionKind::kSum, reduce.value);
  BodyBuilder& b = reduce.nest.epilogue();
  const BodyValue divisor =
      count.is_constant() ? b.constant_int(dtype, count.constant()) : b.convert(dtype, reduce.nest.extent(b, count));
  reduce.nest.store("y0", node.results[0], reduce.result, b.div(sum, divisor));
  return finish_request(reduce.nest);
}

/// Reductions cannot accumulate in bool, so they use 0 and 1 in u8. The initial values of max and min, 0 and 255,
/// convert back to false and true.
template <ReductionKind kKind>
Result<std::vector<KernelRequest>> build_logical(const OpInstance& node) {
  const bool keep_dims = std::get<ReduceAttrs>(node.attributes).keep_dims;
  ReduceNest reduce(kKind == ReductionKind::kMax ? "reduce_any" : "reduce_all", node, axes_of(node), keep_dims);
  const BodyValue result = reduce.nest.reduce(kKind, reduce.nest.term().convert(DType::kU8, reduce.value));
  reduce.nest.store("y0", node.results[0], reduce.result, reduce.nest.epilogue().convert(DType::kBool, result));
  return finish_request(reduce.nest);
}

template <ReductionKind kKind>
OpDef logical_reduction() {
  OpDef def;
  def.infer = [](Types operands, const Attributes& a) { return infer_reduce(operands, a, kBoolOnly); };
  def.build = build_logical<kKind>;
  return def;
}

template <ReductionKind kKind>
OpDef reduction() {
  OpDef def;
  def.infer = [](Types operands, const Attributes& a) { return infer_reduce(operands, a, kArithmetic); };
  def.build = build_reduce<kKind>;
  return def;
}

/// `reason`: why there must be at least one element.
InferResult infer_arg(Types operands, const Attributes& attributes, std::string_view reason) {
  const auto& attrs = std::get<ArgAttrs>(attributes);
  MILLRACE_TRY(expect_dtype(operands, 0, kArithmetic));
  MILLRACE_TRY_ASSIGN(const std::size_t axis, resolve_axis(attrs.axis, operands, 0, "axis"));
  std::vector<SizeRequirement> needed;
  if (!require_at_most(1, operands[0].shape[axis], needed)) {
    return invalid_argument(
        fmt::format("axis {} of operand 0, {}, has extent {}, expected 1 or more, as {}; give it an element", axis,
                    operands[0].to_text(), operands[0].shape[axis].to_text(), reason));
  }
  for (SizeRequirement& each : needed) each.reason = reason;
  return Inference({{DType::kI64, reduced_shape(operands[0].shape, {axis}, attrs.keep_dims)}}, std::move(needed));
}

template <ReductionKind kKind>
Result<std::vector<KernelRequest>> build_arg(const OpInstance& node) {
  const auto& attrs = std::get<ArgAttrs>(node.attributes);
  ReduceNest reduce(std::string(to_text(kKind)), node, {*resolve_axis(attrs.axis, node.operands, 0, "axis")},
                    attrs.keep_dims);
  reduce.nest.store("y0", node.results[0], reduce.result, reduce.nest.reduce(kKind, reduce.value));
  return finish_request(reduce.nest);
}

}  // namespace

OpDef define_reduce_sum() { return reduction<ReductionKind::kSum>(); }
OpDef define_reduce_prod() { return reduction<ReductionKind::kProd>(); }
OpDef define_reduce_max() { return reduction<ReductionKind::kMax>(); }
OpDef define_reduce_min() { return reduction<ReductionKind::kMin>(); }

OpDef define_reduce_mean() {
  OpDef def;
  def.infer = [](Types operands, const Attributes& a) { return infer_reduce(operands, a, kFloats); };
  def.build = build_mean;
  return def;
}

OpDef define_reduce_any() { return logical_reduction<ReductionKind::kMax>(); }
OpDef define_reduce_all() { return logical_reduction<ReductionKind::kMin>(); }

OpDef define_argmax() {
  OpDef def;
  def.infer = [](Types operands, const Attributes& a) {
    return infer_arg(operands, a, "the maximum of no elements is undefined");
  };
  def.build = build_arg<ReductionKind::kArgMax>;
  return def;
}

OpDef define_argmin() {
  OpDef def;
  def.infer = [](Types operands, const Attributes& a) {
    return infer_arg(operands, a, "the minimum of no elements is undefined");
  };
  def.build = build_arg<ReductionKind::kArgMin>;
  return def;
}

}  // namespace millrace
