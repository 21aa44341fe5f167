// SPDX-License-Identifier: Apache-2.0
// The definitions of sort and topk. Algorithms in jit decide how to compute them.
#include <fmt/format.h>

#include "ops/infer.h"

namespace millrace {

using namespace ops;

namespace {

KernelTensor row_major_tensor(std::string name, const TensorType& type) {
  return {std::move(name), type, Layout::row_major(type.shape)};
}

/// Requests only the used results; no request if neither is used.
std::vector<KernelRequest> build_order(SortDescriptor sort, const OpInstance& node) {
  sort.input = row_major_tensor("x0", node.operands[0]);
  if ((node.used_results & 1) != 0) sort.values = row_major_tensor("values", node.results[0]);
  if ((node.used_results & 2) != 0) sort.indices = row_major_tensor("indices", node.results[1]);
  std::vector<KernelRequest> requests;
  if (sort.values || sort.indices) requests.emplace_back(std::move(sort));
  return requests;
}

InferResult infer_sort(Types operands, const Attributes& attributes) {
  MILLRACE_TRY_ASSIGN([[maybe_unused]] const std::size_t axis,
                      resolve_axis(std::get<SortAttrs>(attributes).axis, operands, 0, "axis"));
  return std::vector<TensorType>{operands[0], {DType::kI64, operands[0].shape}};
}

Result<std::vector<KernelRequest>> build_sort(const OpInstance& node) {
  const auto& attrs = std::get<SortAttrs>(node.attributes);
  SortDescriptor sort;
  sort.name = "sort";
  sort.axis = static_cast<std::uint32_t>(*resolve_axis(attrs.axis, node.operands, 0, "axis"));
  sort.k = node.operands[0].shape[sort.axis];
  sort.largest = attrs.descending;
  return build_order(std::move(sort), node);
}

InferResult infer_topk(Types operands, const Attributes& attributes) {
  const auto& attrs = std::get<TopKAttrs>(attributes);
  MILLRACE_TRY_ASSIGN(const std::size_t axis, resolve_axis(attrs.axis, operands, 0, "axis"));
  const SizeExpr& extent = operands[0].shape[axis];
  std::vector<SizeRequirement> needed;
  if (!require_at_most(0, attrs.k, needed) || !require_at_most(attrs.k, extent, needed)) {
    return invalid_argument(fmt::format("k is {}, expected 0 to {}, the extent of axis {} of operand 0, {}; {}",
                                        attrs.k.to_text(), extent.to_text(), axis, operands[0].to_text(),
                                        attrs.k.upper_bound() < 0 ? "raise it" : "lower it"));
  }
  Shape shape = operands[0].shape;
  shape[axis] = attrs.k;
  return Inference({{operands[0].dtype, shape}, {DType::kI64, shape}}, std::move(needed));
}

Result<std::vector<KernelRequest>> build_topk(const OpInstance& node) {
  const auto& attrs = std::get<TopKAttrs>(node.attributes);
  SortDescriptor sort;
  sort.name = "topk";
  sort.axis = static_cast<std::uint32_t>(*resolve_axis(attrs.axis, node.operands, 0, "axis"));
  sort.k = attrs.k;
  sort.largest = attrs.largest;
  sort.sorted = attrs.sorted;
  return build_order(std::move(sort), node);
}

}  // namespace

OpDef define_sort() { return {infer_sort, nullptr, nullptr, build_sort}; }
OpDef define_topk() { return {infer_topk, nullptr, nullptr, build_topk}; }

}  // namespace millrace
