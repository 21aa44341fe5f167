// SPDX-License-Identifier: Apache-2.0
// Infers result types node by node, for the builder, the parser and verify(Graph); ops bring their own rules.
#include "graph/infer.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/guard_allocations.h"
#include "graph/control_rules.h"
#include "jit/ir/kernel_sizes.h"

namespace millrace {

namespace {
Result<Inference> infer_kind(const Node& node, std::span<const TensorType> operands) {
  if (const auto* op = std::get_if<OpNode>(&node.what)) return unguarded(infer_types(op->op, operands, op->attributes));
  if (const auto* kernel = std::get_if<KernelNode>(&node.what))
    return unguarded(infer_custom(kernel->kernel, operands));
  if (const auto* own = std::get_if<NestNode>(&node.what)) return unguarded(infer_nest(*own->nest, operands));
  if (const auto* loop = std::get_if<LoopNode>(&node.what)) return infer_loop(*loop, operands);
  if (const auto* cond = std::get_if<CondNode>(&node.what)) return infer_cond(*cond, operands);
  return node.results;
}
}  // namespace

Result<Inference> infer_node(const Node& node, std::span<const TensorType> operands) {
  Result<Inference> inferred = infer_kind(node, operands);
  if (inferred.ok()) return inferred;
  std::vector<Shape> shapes = {Shape(sizes_of(node))};
  for (const TensorType& operand : operands) shapes.push_back(operand.shape);
  MILLRACE_TRY(check_facts(shapes));  // reported first: conflicting facts may be the cause of the other failure
  return inferred;
}

Status check_facts(std::span<const Shape> shapes) {
  std::map<std::string, Dim> symbols;
  for (const Shape& shape : shapes) {
    for (const SizeExpr& dim : shape.dims()) MILLRACE_TRY(dim.collect_symbols(symbols));
  }
  return {};
}

// A shape with two dims of -1, or with a dim of -1 that no extent can fill, stays unchanged, so that the error shows
// what the caller gave.
Shape with_found_dim(Shape shape, const Shape& from) {
  constexpr std::size_t kMaxTerms = 500;  // broken_limit() refuses a shape with more
  std::size_t unknown = shape.rank();
  // Equal dims cancel, so that reshaping [n, 2, 3] to [n, -1] gives [n, 6] even at n = 0.
  std::vector<SizeExpr> left = from.dims();
  SizeExpr others = 1;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d].is(-1)) {
      if (unknown < shape.rank()) return shape;
      unknown = d;
    } else if (const auto same = std::ranges::find(left, shape[d]); same != left.end()) {
      left.erase(same);
    } else if (others.num_terms() * shape[d].num_terms() > kMaxTerms) {
      return shape;
    } else {
      others = others * shape[d];
    }
  }
  if (unknown == shape.rank() || others.is(0)) return shape;
  const SizeExpr count = Shape(left).num_elements();
  const bool is_known = count.is_constant() && others.is_constant();
  if (!is_known || count.constant() % others.constant() == 0) shape[unknown] = floor_div(count, others);
  return shape;
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
    // A copy: `visit` also serves writers, so it is not const.
    std::visit([&](auto copy) { copy.visit(SizeCollector{sizes}); }, op->attributes);
  }
  if (const auto* own = std::get_if<NestNode>(&node.what)) {
    for_each_size(*own->nest, [&](const SizeExpr& size) { sizes.push_back(size); });
  }
  for (const TensorType& type : node.results) {
    sizes.insert(sizes.end(), type.shape.dims().begin(), type.shape.dims().end());
  }
  for (const Graph* body : bodies_of(node)) {
    if (body == nullptr) continue;
    for (const Node& inner : body->nodes) {
      for (SizeExpr& size : sizes_of(inner)) sizes.push_back(std::move(size));
    }
  }
  return sizes;
}

}  // namespace millrace
