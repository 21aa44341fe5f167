// SPDX-License-Identifier: Apache-2.0
// Records the bodies of elementwise nodes, and estimates their size for the limits on regions.
#include "graph/dispatch/node_instructions.h"

#include "graph/dispatch/views.h"
#include "jit/ir/affine.h"
#include "jit/map/code_estimate.h"
#include "millrace/jit/loop_kernel.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

/// Whether adjacent elements along the view's last dim are not adjacent in memory.
bool has_strided_elements(const Graph& graph, const Node& node) {
  const std::size_t rank = node.results[0].shape.rank();
  if (!is_index_view(node) || rank == 0) return false;
  std::vector<AffineIndex> point;
  for (std::size_t d = 0; d < rank; ++d) point.push_back(dim_index(rank, d));
  const std::vector<AffineIndex> indices = look_through(graph, node, point);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const SizeExpr& step = indices[d].coefficients.back();
    if (!step.is(0) && !(step.is(1) && d + 1 == indices.size())) return true;
  }
  return false;
}

/// The cost of loading an operand: widening it and, if the elements of a view are not adjacent, one address per SIMD
/// lane. 0 if another node's cost includes it.
std::int64_t load_instructions(const Graph& graph, Value operand) {
  constexpr std::int64_t kAddressInstructions = 26;  // instructions for addresses, if lanes are not adjacent
  const Node& node = graph.nodes[operand.node];
  if (!is_source(node) && !is_index_view(node)) return 0;
  const Node* source = &node;
  while (is_index_view(*source)) source = &graph.nodes[source->operands[0].node];
  const auto* constant = std::get_if<ConstantNode>(&source->what);
  if (constant && constant->data.size() == size_bytes(source->results[0].dtype)) return 0;  // an immediate
  const DType stored = graph.type(operand).dtype;
  BodyBuilder b;
  if (body_dtype(stored) != stored) b.convert(body_dtype(stored), b.load(0, stored));
  return estimate_instructions(b.finish()) + (has_strided_elements(graph, node) ? kAddressInstructions : 0);
}

}  // namespace

bool is_elementwise(const Node& node) {
  if (std::holds_alternative<KernelNode>(node.what)) return true;
  const auto* op = std::get_if<OpNode>(&node.what);
  return op && has_trait(op->op, kElementwise);
}

BodyValue record_body(BodyBuilder& b, const Graph& graph, const Node& node, std::vector<BodyValue> operands) {
  static const Attributes kNoAttributes = NoAttrs{};
  const BodyOperands<BodyBuilder> x(b, operands);
  if (const auto* kernel = std::get_if<KernelNode>(&node.what)) return kernel->kernel.body(b, x, kNoAttributes);
  const auto& op = std::get<OpNode>(node.what);
  const OpDef& def = definition(op.op);
  for (std::size_t i = 0; def.reads_bits && i < operands.size(); ++i) {
    operands[i] = b.convert(graph.type(node.operands[i]).dtype, operands[i]);
  }
  return def.body(b, x, op.attributes);
}

std::int64_t body_instructions(const Graph& graph, const Node& node) {
  if (const auto* own = std::get_if<NestNode>(&node.what)) {
    std::int64_t count = estimate_instructions(own->nest->epilogue);
    for (const Body& term : own->nest->terms) count += estimate_instructions(term);
    return count;
  }
  if (!is_elementwise(node)) return 0;
  BodyBuilder b;
  std::vector<BodyValue> operands;
  std::int64_t loads = 0;
  for (std::uint32_t i = 0; i < node.operands.size(); ++i) {
    operands.push_back(b.load(i, body_dtype(graph.type(node.operands[i]).dtype)));
    loads += load_instructions(graph, node.operands[i]);
  }
  BodyValue result = record_body(b, graph, node, std::move(operands));
  const DType stored = node.results[0].dtype;
  if (body_dtype(stored) != stored) result = b.convert(result.dtype, b.convert(stored, result));
  return estimate_instructions(b.finish()) + loads;
}

}  // namespace millrace
