// SPDX-License-Identifier: Apache-2.0
// The definitions of views, which give elements other indices and compute nothing. build() makes the copy that is
// needed if a view is not possible.
#include <algorithm>

#include <fmt/format.h>

#include "ops/infer.h"
#include "ops/request.h"

namespace millrace {

using namespace ops;

namespace {

/// Element `point` of `to` is element read(point) of `from`.
template <class F>
Result<std::vector<KernelRequest>> build_copy(std::string name, const TensorType& from, const TensorType& to,
                                              F&& read) {
  LoopKernelBuilder nest(std::move(name));
  const std::vector<AffineIndex> point = nest.parallel_dims(to.shape);
  nest.store("y0", to, point, nest.load(nest.epilogue(), nest.operand("x0", from), read(point)));
  return finish_request(nest);
}

/// Refuses a dim of -1, which remains in the attributes only if no extent can fill it.
Status refuse_unknown_dim(const TensorType& operand, const Shape& shape) {
  const auto unknown = std::ranges::count_if(shape.dims(), [](const SizeExpr& dim) { return dim.is(-1); });
  if (unknown == 0) return {};
  if (unknown > 1) {
    return invalid_argument(
        fmt::format("{} dims of -1 in shape {}, expected at most 1; give the others", unknown, shape.to_text()));
  }
  SizeExpr others = 1;
  for (const SizeExpr& dim : shape.dims()) others = dim.is(-1) ? others : others * dim;
  if (others.is(0)) {
    return invalid_argument(fmt::format(
        "-1 in shape {} can be any number, as the other dims make 0 elements; give the number", shape.to_text()));
  }
  return invalid_argument(
      fmt::format("operand 0 is {}, with {} elements, expected a multiple of {} for shape {}; "
                  "correct the shape",
                  operand.to_text(), operand.shape.num_elements().to_text(), others.to_text(), shape.to_text()));
}

InferResult infer_reshape(Types operands, const Attributes& attributes) {
  const Shape shape(std::get<ShapeAttrs>(attributes).shape);
  MILLRACE_TRY(refuse_unknown_dim(operands[0], shape));
  const std::string broken = broken_limit({operands[0].dtype, shape});  // two negative extents can have a valid product
  if (!broken.empty()) return invalid_argument("result 0 " + broken);
  const SizeExpr found = operands[0].shape.num_elements(), wanted = shape.num_elements();
  std::vector<SizeRequirement> needed;
  require_extents(shape, needed);
  if (found != wanted && (!require_at_most(found, wanted, needed) || !require_at_most(wanted, found, needed))) {
    return invalid_argument(fmt::format("operand 0 is {}, with {} elements, expected {} for shape {}; {}",
                                        operands[0].to_text(), found.to_text(), wanted.to_text(), shape.to_text(),
                                        "correct the shape"));
  }
  return Inference({{operands[0].dtype, shape}}, std::move(needed));
}

/// Both tensors are row-major, so the copy treats them as flat.
Result<std::vector<KernelRequest>> build_reshape(const OpInstance& node) {
  const TensorType flat = {node.results[0].dtype, Shape({node.results[0].shape.num_elements()})};
  return build_copy("reshape", flat, flat, [](const auto& point) { return point; });
}

InferResult infer_transpose(Types operands, const Attributes& attributes) {
  const auto& permutation = std::get<PermutationAttrs>(attributes).permutation;
  const Shape& shape = operands[0].shape;
  MILLRACE_TRY(expect_entries("permutation", permutation.size(), shape.rank(),
                              fmt::format("the dims of operand 0, {}", operands[0].to_text())));
  MILLRACE_TRY_ASSIGN(const auto axes, resolve_axes(permutation, operands, 0, "permutation"));
  std::vector<SizeExpr> dims;
  for (const std::size_t axis : axes) dims.push_back(shape[axis]);
  return std::vector<TensorType>{{operands[0].dtype, Shape(std::move(dims))}};
}

Result<std::vector<KernelRequest>> build_transpose(const OpInstance& node) {
  const auto axes = *resolve_axes(std::get<PermutationAttrs>(node.attributes).permutation, node.operands, 0, "");
  return build_copy("transpose", node.operands[0], node.results[0], [&](const std::vector<AffineIndex>& point) {
    std::vector<AffineIndex> indices(axes.size());
    for (std::size_t d = 0; d < axes.size(); ++d) indices[axes[d]] = point[d];
    return indices;
  });
}

InferResult infer_broadcast(Types operands, const Attributes& attributes) {
  const auto& attrs = std::get<BroadcastAttrs>(attributes);
  const Shape& from = operands[0].shape;
  const TensorType result = {operands[0].dtype, Shape(attrs.shape)};
  MILLRACE_TRY(expect_entries("dims", attrs.dims.size(), from.rank(),
                              fmt::format("the dims of operand 0, {}", operands[0].to_text())));
  if (from.rank() > result.shape.rank()) {
    return invalid_argument(fmt::format("operand 0 is {}, expected rank {} or less for shape {}; reshape it",
                                        operands[0].to_text(), result.shape.rank(), result.shape.to_text()));
  }
  for (std::size_t d = 0; d < from.rank(); ++d) {
    const std::int64_t to = attrs.dims[d];
    const std::int64_t min_to = d == 0 ? 0 : attrs.dims[d - 1] + 1;
    const auto max_to = static_cast<std::int64_t>(result.shape.rank() - (from.rank() - d));
    if (to < min_to || to > max_to) {
      return invalid_argument(fmt::format("dims[{}] is {}, expected {} to {}, ascending, for shape {}; correct it", d,
                                          to, min_to, max_to, result.shape.to_text()));
    }
    const SizeExpr& extent = result.shape[static_cast<std::size_t>(to)];
    if (from[d].is(1) || from[d] == extent) continue;
    return invalid_argument(
        fmt::format("operand 0 is {}, expected extent {} or 1 in dim {}, which becomes dim {} of "
                    "{}; correct dims or shape",
                    operands[0].to_text(), extent.to_text(), d, to, result.to_text()));
  }
  std::vector<SizeRequirement> needed;
  require_extents(result.shape, needed);
  return Inference({result}, std::move(needed));
}

Result<std::vector<KernelRequest>> build_broadcast(const OpInstance& node) {
  const auto& attrs = std::get<BroadcastAttrs>(node.attributes);
  return build_copy("broadcast", node.operands[0], node.results[0], [&](const std::vector<AffineIndex>& point) {
    std::vector<AffineIndex> indices;
    for (std::size_t d = 0; d < attrs.dims.size(); ++d) {
      const bool repeats = node.operands[0].shape[d].is(1);
      indices.push_back(repeats ? AffineIndex{} : point[static_cast<std::size_t>(attrs.dims[d])]);
    }
    return indices;
  });
}

/// Larger than every extent that broken_limit() accepts.
constexpr std::int64_t kBeyondExtents = std::int64_t{1} << 48;

InferResult infer_slice(Types operands, const Attributes& attributes) {
  const auto& attrs = std::get<SliceAttrs>(attributes);
  const Shape& shape = operands[0].shape;
  const std::string dims_text = fmt::format("the dims of operand 0, {}", operands[0].to_text());
  MILLRACE_TRY(expect_entries("start", attrs.start.size(), shape.rank(), dims_text));
  MILLRACE_TRY(expect_entries("stop", attrs.stop.size(), shape.rank(), dims_text));
  MILLRACE_TRY(expect_entries("step", attrs.step.size(), shape.rank(), dims_text));
  MILLRACE_TRY(expect_at_least("step", attrs.step, 1));
  std::vector<SizeExpr> dims;
  std::vector<SizeRequirement> needed;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (!require_at_most(0, attrs.start[d], needed) || !require_at_most(attrs.start[d], attrs.stop[d], needed) ||
        !require_at_most(attrs.stop[d], shape[d], needed)) {
      return invalid_argument(
          fmt::format("start[{}] is {} and stop[{}] is {}, expected 0 <= start <= stop <= {} for operand 0, {}; {}", d,
                      attrs.start[d].to_text(), d, attrs.stop[d].to_text(), shape[d].to_text(), operands[0].to_text(),
                      "stay inside the operand"));
    }
    // A step larger than every extent takes one element, whatever its value. Clamping it keeps the size within int64.
    dims.push_back(ceil_div(attrs.stop[d] - attrs.start[d], std::min(attrs.step[d], kBeyondExtents)));
  }
  return Inference({{operands[0].dtype, Shape(std::move(dims))}}, std::move(needed));
}

Result<std::vector<KernelRequest>> build_slice(const OpInstance& node) {
  const auto& attrs = std::get<SliceAttrs>(node.attributes);
  return build_copy("slice", node.operands[0], node.results[0], [&](const std::vector<AffineIndex>& point) {
    std::vector<AffineIndex> indices;
    for (std::size_t d = 0; d < point.size(); ++d) indices.push_back(point[d] * attrs.step[d] + attrs.start[d]);
    return indices;
  });
}

}  // namespace

OpDef define_reshape() { return {infer_reshape, nullptr, nullptr, build_reshape}; }
OpDef define_transpose() { return {infer_transpose, nullptr, nullptr, build_transpose}; }
OpDef define_broadcast() { return {infer_broadcast, nullptr, nullptr, build_broadcast}; }
OpDef define_slice() { return {infer_slice, nullptr, nullptr, build_slice}; }

}  // namespace millrace
