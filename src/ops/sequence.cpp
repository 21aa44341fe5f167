// SPDX-License-Identifier: Apache-2.0
// The definitions of scans and scatters. Algorithms in jit decide how to compute them.
#include <fmt/format.h>

#include "ops/infer.h"

namespace millrace {

using namespace ops;

namespace {

KernelTensor row_major_tensor(std::string name, const TensorType& type) {
  return {std::move(name), type, Layout::row_major(type.shape)};
}

template <const DTypeSet& kSet>
InferResult infer_scatter(Types operands, const Attributes& attributes) {
  MILLRACE_TRY(expect_dtype(operands, 0, kSet));
  MILLRACE_TRY_ASSIGN(const TensorType updates, gathered_type(operands, std::get<GatherAttrs>(attributes).axis));
  if (operands[2] != updates) {
    return invalid_argument(fmt::format("operand 2 is {}, expected {} like the result of gather; {}",
                                        operands[2].to_text(), updates.to_text(),
                                        operands[2].dtype != updates.dtype ? "insert a cast" : "reshape it"));
  }
  return std::vector<TensorType>{operands[0]};
}

Result<std::vector<KernelRequest>> build_scatter(const OpInstance& node, std::optional<ReductionKind> combine) {
  ScatterDescriptor scatter;
  scatter.name = "scatter";
  scatter.input = row_major_tensor("x0", node.operands[0]);
  scatter.indices = row_major_tensor("x1", node.operands[1]);
  scatter.updates = row_major_tensor("x2", node.operands[2]);
  scatter.result = row_major_tensor("y0", node.results[0]);
  const std::int64_t axis = std::get<GatherAttrs>(node.attributes).axis;
  scatter.axis = static_cast<std::uint32_t>(*resolve_axis(axis, node.operands, 0, "axis"));
  scatter.combine = combine;
  std::vector<KernelRequest> requests;
  requests.emplace_back(std::move(scatter));
  return requests;
}

template <ReductionKind kKind>
OpDef combining_scatter() {
  OpDef def;
  def.infer = infer_scatter<kArithmetic>;
  def.build = [](const OpInstance& node) { return build_scatter(node, kKind); };
  return def;
}

InferResult infer_scan(Types operands, const Attributes& attributes) {
  MILLRACE_TRY(expect_dtype(operands, 0, kArithmetic));
  MILLRACE_TRY_ASSIGN([[maybe_unused]] const std::size_t axis,
                      resolve_axis(std::get<ScanAttrs>(attributes).axis, operands, 0, "axis"));
  return std::vector<TensorType>{operands[0]};
}

template <ReductionKind kKind>
Result<std::vector<KernelRequest>> build_scan(const OpInstance& node) {
  const auto& attrs = std::get<ScanAttrs>(node.attributes);
  ScanDescriptor scan;
  scan.name = "scan";
  scan.input = row_major_tensor("x0", node.operands[0]);
  scan.result = row_major_tensor("y0", node.results[0]);
  scan.axis = static_cast<std::uint32_t>(*resolve_axis(attrs.axis, node.operands, 0, "axis"));
  scan.kind = kKind;
  scan.exclusive = attrs.exclusive;
  scan.reverse = attrs.reverse;
  std::vector<KernelRequest> requests;
  requests.emplace_back(std::move(scan));
  return requests;
}

}  // namespace

/// Plain scatter moves elements of any dtype; the combining scatters need numbers.
OpDef define_scatter() {
  OpDef def;
  def.infer = infer_scatter<kEveryDType>;
  def.build = [](const OpInstance& node) { return build_scatter(node, std::nullopt); };
  return def;
}

OpDef define_scatter_add() { return combining_scatter<ReductionKind::kSum>(); }
OpDef define_scatter_mul() { return combining_scatter<ReductionKind::kProd>(); }
OpDef define_scatter_min() { return combining_scatter<ReductionKind::kMin>(); }
OpDef define_scatter_max() { return combining_scatter<ReductionKind::kMax>(); }

OpDef define_cumulative_sum() { return {infer_scan, nullptr, nullptr, build_scan<ReductionKind::kSum>}; }
OpDef define_cumulative_prod() { return {infer_scan, nullptr, nullptr, build_scan<ReductionKind::kProd>}; }
OpDef define_cumulative_max() { return {infer_scan, nullptr, nullptr, build_scan<ReductionKind::kMax>}; }
OpDef define_cumulative_min() { return {infer_scan, nullptr, nullptr, build_scan<ReductionKind::kMin>}; }

}  // namespace millrace
