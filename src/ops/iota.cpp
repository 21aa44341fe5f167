// SPDX-License-Identifier: Apache-2.0
// The definitions of iota and size, which have no operands.
#include "ops/iota.h"

#include "ops/elementwise.h"
#include "ops/request.h"

namespace millrace {

using namespace ops;

namespace {

InferResult infer_iota(Types, const Attributes& attributes) {
  const auto& attrs = std::get<IotaAttrs>(attributes);
  const TensorType result[] = {{attrs.dtype, Shape(attrs.shape)}};
  const std::string broken = broken_limit(result[0]);  // the messages below print the type
  if (!broken.empty()) return invalid_argument("result 0 " + broken);
  if (!kArithmetic.contains(attrs.dtype)) {
    return invalid_argument("dtype is " + std::string(to_text(attrs.dtype)) +
                            ", expected an integer or a float; cast the result");
  }
  const auto rank = static_cast<std::int64_t>(result[0].shape.rank());
  if (attrs.axis < -rank || attrs.axis >= rank) {
    return invalid_argument("axis is " + std::to_string(attrs.axis) + ", which is not an axis of the result, " +
                            result[0].to_text() + "; choose one of its axes");
  }
  std::vector<SizeRequirement> needed;
  require_extents(result[0].shape, needed);
  return Inference({result[0]}, std::move(needed));
}

Result<std::vector<KernelRequest>> build_iota(const OpInstance& node) {
  const auto& attrs = std::get<IotaAttrs>(node.attributes);
  LoopKernelBuilder nest("iota");
  const std::vector<AffineIndex> point = nest.parallel_dims(node.results[0].shape);
  BodyBuilder& b = nest.epilogue();
  nest.store("y0", node.results[0], point, iota_value(b, attrs, nest.index(b, point[iota_axis(attrs)])));
  return finish_request(nest);
}

InferResult infer_size(Types, const Attributes&) { return std::vector<TensorType>{{DType::kI64, Shape()}}; }

Result<std::vector<KernelRequest>> build_size(const OpInstance& node) {
  LoopKernelBuilder nest("size");
  nest.store("y0", node.results[0], {}, nest.extent(nest.epilogue(), std::get<SizeAttrs>(node.attributes).size));
  return finish_request(nest);
}

}  // namespace

std::size_t iota_axis(const IotaAttrs& attributes) {
  return static_cast<std::size_t>(
      attributes.axis < 0 ? attributes.axis + static_cast<std::int64_t>(attributes.shape.size()) : attributes.axis);
}

BodyValue iota_value(BodyBuilder& b, const IotaAttrs& attributes, BodyValue index) {
  const bool is_16_bit = body_dtype(attributes.dtype) != attributes.dtype;
  return is_16_bit ? round_to_odd(b, index) : b.convert(attributes.dtype, index);
}

OpDef define_size() { return {infer_size, nullptr, nullptr, build_size}; }
OpDef define_iota() { return {infer_iota, nullptr, nullptr, build_iota}; }

}  // namespace millrace
