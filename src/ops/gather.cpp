// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/infer.h"
#include "ops/nest.h"

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

/// The index is checked where it is loaded: out of range it is reported and 0 is read instead, so no address leaves
/// the operand. An axis that may have extent 0 has nothing to read even then: the load fills.
Result<std::vector<KernelRequest>> build_gather(const OpInstance& node) {
  const std::size_t axis = *resolve_axis(std::get<GatherAttrs>(node.attributes).axis, node.operands, 0, "axis");
  const Shape& x_shape = node.operands[0].shape;
  const std::size_t index_rank = node.operands[1].shape.rank();
  Nest nest("gather");
  nest.parallel_dims(node.results[0].shape);
  const auto x = nest.operand(node.operands[0]), indices = nest.operand(node.operands[1]);
  std::vector<AffineIndex> index_point, x_point;
  for (std::size_t d = 0; d < index_rank; ++d) index_point.push_back(nest.along(static_cast<std::uint32_t>(axis + d)));
  for (std::size_t d = 0; d < x_shape.rank(); ++d) {
    const std::size_t from = d < axis ? d : d + index_rank - 1;
    x_point.push_back(d == axis ? nest.index({}) : nest.along(static_cast<std::uint32_t>(from)));
  }
  BodyBuilder& b = nest.epilogue();
  const DType dtype = body_dtype(node.operands[0].dtype);
  const BodyValue raw = b.convert(DType::kI64, nest.load(b, indices, std::move(index_point)));
  const BodyValue index = b.check_index(raw, nest.extent(b, x_shape[axis]));
  std::optional<Scalar> fill;
  if (x_shape[axis].lower_bound() < 1) fill = Scalar::from_int(dtype, 0);
  const auto access = nest.add_load({x, std::move(x_point), static_cast<std::uint32_t>(axis), fill});
  nest.store(node.results[0], nest.identity(node.results[0].shape.rank()), b.load(access, dtype, index));
  return nest.finish();
}

}  // namespace

OpDef define_gather() { return {infer_gather, nullptr, nullptr, build_gather}; }

}  // namespace millrace
