// SPDX-License-Identifier: Apache-2.0
#include "graph/infer.h"

namespace millrace {

Result<Inference> infer_node(const Node& node, std::span<const TensorType> operands) {
  if (const auto* op = std::get_if<OpNode>(&node.what)) return infer_types(op->op, operands, op->attributes);
  if (const auto* kernel = std::get_if<KernelNode>(&node.what)) return infer_custom(kernel->kernel, operands);
  return node.results;
}

namespace {
struct SizeCollector {
  std::vector<SizeExpr>& sizes;
  void operator()(std::string_view, const SizeExpr& size) const { sizes.push_back(size); }
  void operator()(std::string_view, const std::vector<SizeExpr>& found) const {
    sizes.insert(sizes.end(), found.begin(), found.end());
  }
  template <class T>
  void operator()(std::string_view, const T&) const {}
};
}  // namespace

std::vector<SizeExpr> sizes_of(const Node& node) {
  std::vector<SizeExpr> sizes;
  if (const auto* op = std::get_if<OpNode>(&node.what)) {
    // A copy, because one `visit` serves readers and writers.
    std::visit([&](auto copy) { copy.visit(SizeCollector{sizes}); }, op->attributes);
  }
  for (const TensorType& type : node.results) {
    sizes.insert(sizes.end(), type.shape.dims().begin(), type.shape.dims().end());
  }
  return sizes;
}

}  // namespace millrace
