// SPDX-License-Identifier: Apache-2.0
// The definitions of gather and take_along_axis, as loads at computed indices.
#include <fmt/format.h>

#include "ops/infer.h"
#include "ops/request.h"

namespace millrace {

using namespace ops;

Result<TensorType> ops::gathered_type(Types operands, std::int64_t axis_attribute) {
  MILLRACE_TRY_ASSIGN(const std::size_t axis, resolve_axis(axis_attribute, operands, 0, "axis"));
  MILLRACE_TRY(expect_dtype(operands, 1, kIndices));
  std::vector<SizeExpr> dims;
  for (std::size_t d = 0; d < axis; ++d) dims.push_back(operands[0].shape[d]);
  for (const SizeExpr& dim : operands[1].shape.dims()) dims.push_back(dim);
  for (std::size_t d = axis + 1; d < operands[0].shape.rank(); ++d) dims.push_back(operands[0].shape[d]);
  return TensorType{operands[0].dtype, Shape(std::move(dims))};
}

namespace {

InferResult infer_gather(Types operands, const Attributes& attributes) {
  MILLRACE_TRY_ASSIGN(TensorType result, gathered_type(operands, std::get<GatherAttrs>(attributes).axis));
  return std::vector<TensorType>{std::move(result)};
}

InferResult infer_take_along_axis(Types operands, const Attributes& attributes) {
  MILLRACE_TRY_ASSIGN(const std::size_t axis,
                      resolve_axis(std::get<GatherAttrs>(attributes).axis, operands, 0, "axis"));
  MILLRACE_TRY(expect_dtype(operands, 1, kIndices));
  const Shape& shape = operands[1].shape;
  Shape expected = operands[0].shape;
  if (shape.rank() == expected.rank()) expected[axis] = shape[axis];
  if (shape != expected) {
    return invalid_argument(fmt::format(
        "operand 1 is {}, expected the shape of operand 0, {}, except along axis {}; reshape or broadcast it",
        operands[1].to_text(), operands[0].to_text(), axis));
  }
  return std::vector<TensorType>{{operands[0].dtype, shape}};
}

std::size_t axis_of(const OpInstance& node) {
  return *resolve_axis(std::get<GatherAttrs>(node.attributes).axis, node.operands, 0, "axis");
}

/// How the result's dims map to the operands' dims. The dims of each operand keep their order in the result.
struct ResultDims {
  std::size_t first_of_indices;  // the result dim that maps to dim 0 of the indices
  std::size_t count_for_axis;    // the number of result dims that replace x's axis
};

/// Loads check each index: an index out of range is reported, and 0 is read instead, so that no address leaves the
/// operand. If the axis may have extent 0, even element 0 may not exist, so the load has a fill value.
Result<std::vector<KernelRequest>> build_indexed(const OpInstance& node, std::string name, const ResultDims& dims) {
  const std::size_t axis = axis_of(node);
  const Shape& x_shape = node.operands[0].shape;
  LoopKernelBuilder nest(std::move(name));
  const std::vector<AffineIndex> point = nest.parallel_dims(node.results[0].shape);
  const OperandId x = nest.operand("x0", node.operands[0]), indices = nest.operand("x1", node.operands[1]);
  std::vector<AffineIndex> index_point, x_point;
  for (std::size_t d = 0; d < node.operands[1].shape.rank(); ++d) {
    index_point.push_back(point[dims.first_of_indices + d]);
  }
  for (std::size_t d = 0; d < x_shape.rank(); ++d) {
    const std::size_t from = d < axis ? d : d + dims.count_for_axis - 1;
    x_point.push_back(d == axis ? AffineIndex{} : point[from]);
  }
  BodyBuilder& b = nest.epilogue();
  const DType dtype = body_dtype(node.operands[0].dtype);
  const BodyValue raw = b.convert(DType::kI64, nest.load(b, indices, std::move(index_point)));
  const BodyValue index = b.check_index(raw, nest.extent(b, x_shape[axis]));
  LoadOptions options{.gather_index = index, .gather_dim = static_cast<std::uint32_t>(axis)};
  if (x_shape[axis].lower_bound() < 1) options.fill = Scalar::from_int(dtype, 0);
  nest.store("y0", node.results[0], point, nest.load(b, x, std::move(x_point), options));
  return finish_request(nest);
}

Result<std::vector<KernelRequest>> build_gather(const OpInstance& node) {
  return build_indexed(node, "gather",
                       {.first_of_indices = axis_of(node), .count_for_axis = node.operands[1].shape.rank()});
}

Result<std::vector<KernelRequest>> build_take_along_axis(const OpInstance& node) {
  return build_indexed(node, "take_along_axis", {.first_of_indices = 0, .count_for_axis = 1});
}

}  // namespace

OpDef define_gather() { return {infer_gather, nullptr, nullptr, build_gather}; }
OpDef define_take_along_axis() { return {infer_take_along_axis, nullptr, nullptr, build_take_along_axis}; }

}  // namespace millrace
