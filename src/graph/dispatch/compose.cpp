// SPDX-License-Identifier: Apache-2.0
// Turns one region into kernel requests: finds its roots, builds their nests, and composes these with the region's
// other nodes (composer.h).
#include "graph/dispatch/compose.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/dispatch/composer.h"
#include "graph/dispatch/nest_reads.h"
#include "graph/dispatch/node_instructions.h"
#include "graph/dispatch/views.h"
#include "millrace/graph/text.h"
#include "millrace/ops/op_def.h"
#include "ops/pad.h"

namespace millrace {
namespace {

/// Whether another region stores the pad's operand directly in the pad's result, so that only the border is missing.
bool is_pad_in_place(const DispatchGraph& dispatch, const Region& region, const Node& node) {
  const auto* op = std::get_if<OpNode>(&node.what);
  if (op == nullptr || op->op != Op::pad || region.nodes.size() != 1) return false;
  const auto part = dispatch.parts.find(dispatch.storage_of(node.operands[0]));
  return part != dispatch.parts.end() && part->second.whole == region.outputs[0];
}

/// The nodes whose loop nests the region's kernel has: one, several reductions, or none if a map computes the region.
std::vector<NodeId> find_roots(const Graph& graph, const Region& region) {
  std::vector<NodeId> roots, iotas;
  for (NodeId id : region.nodes) {
    const Node& node = graph.nodes[id];
    if (is_index_view(node) || is_elementwise(node)) continue;
    (iota_attributes(node) != nullptr ? iotas : roots).push_back(id);
  }
  return roots.empty() ? iotas : roots;
}

Result<std::vector<KernelRequest>> build_root(const Graph& graph, const Region& region, NodeId id, bool is_border) {
  const Node& node = graph.nodes[id];
  std::uint32_t used = 0;
  for (const Value& output : region.outputs) used |= output.node == id ? 1u << output.result : 0;
  if (used == 0) used = 1;  // no result of the root is stored; the epilogue reads result 0
  std::vector<TensorType> operands;
  for (const Value& operand : node.operands) operands.push_back(graph.type(operand));
  static const Attributes kNoAttributes = NoAttrs{};
  if (const auto* kernel = std::get_if<KernelNode>(&node.what)) {
    return build_custom(kernel->kernel, {operands, node.results, kNoAttributes, used});
  }
  const auto& op = std::get<OpNode>(node.what);
  const OpInstance instance{operands, node.results, op.attributes, used};
  return is_border ? build_pad_borders(instance) : definition(op.op).build(instance);
}

/// The request of a sort or scan whose load computes the region's elementwise nodes.
ComposedRequest with_load(const DispatchGraph& dispatch, const Region& region, NodeId root, KernelRequest request) {
  const auto add = [&](auto& descriptor) {
    const Value operand = dispatch.graph.nodes[root].operands[0];
    ComposedRequest load = Composer(dispatch, region).compose_load(operand, descriptor.input);
    descriptor.load = std::get<LoopKernel>(std::move(load.request));
    descriptor.name = region.name;
    return std::move(load.operands);
  };
  auto* const sort = std::get_if<SortDescriptor>(&request);
  std::vector<Value> operands = sort != nullptr ? add(*sort) : add(std::get<ScanDescriptor>(request));
  return {std::move(request), std::move(operands), region.outputs};
}

/// Whether the region stores its only result in the operand's memory.
bool replaces(const DispatchGraph& dispatch, const Region& region, Value operand) {
  return dispatch.in_place.contains(region.outputs[0]) &&
         dispatch.memory_of(region.outputs[0]) == dispatch.memory_of(operand);
}

/// The request of a root without fused nodes, such as a sort.
Result<std::vector<ComposedRequest>> alone(const DispatchGraph& dispatch, const Region& region, NodeId root,
                                           KernelRequest request) {
  const Graph& graph = dispatch.graph;
  if (region.nodes.size() != 1) {
    return internal_error(
        fmt::format("region {}: {} cannot be fused with others", region.name, node_text(graph, root)));
  }
  std::visit([&](auto& descriptor) { descriptor.name = region.name; }, request);
  if (auto* const scatter = std::get_if<ScatterDescriptor>(&request)) {
    scatter->in_place = replaces(dispatch, region, graph.nodes[root].operands[0]);
  }
  return std::vector<ComposedRequest>{{std::move(request), graph.nodes[root].operands, region.outputs}};
}

/// If the region overwrites an operand in place, makes its loop kernel do so.
std::vector<ComposedRequest> placed(const DispatchGraph& dispatch, const Region& region, ComposedRequest composed) {
  for (std::uint32_t i = 0; i < composed.operands.size(); ++i) {
    if (replaces(dispatch, region, composed.operands[i])) std::get<LoopKernel>(composed.request).in_place = i;
  }
  return {std::move(composed)};
}

/// Keeps the requests of the copied operands of a concat or pad; `requests` has one per operand.
std::vector<ComposedRequest> copies(const Graph& graph, const Region& region, NodeId root,
                                    std::vector<KernelRequest> requests) {
  std::vector<ComposedRequest> result;
  for (const CopiedOperand& copy : region.copies) {
    KernelRequest& request = requests[copy.operand];
    std::visit([&](auto& nest) { nest.name = region.name; }, request);
    result.push_back({std::move(request), {graph.nodes[root].operands[copy.operand]}, region.outputs});
  }
  return result;
}

/// The requests that fill a pad's border, if another region stores the operand inside the pad's result.
std::vector<ComposedRequest> borders(const Region& region, std::vector<KernelRequest> requests) {
  std::vector<ComposedRequest> result;
  for (KernelRequest& request : requests) {
    std::get<LoopKernel>(request).name = region.name;
    result.push_back({std::move(request), {}, region.outputs});
  }
  return result;
}

}  // namespace

Result<std::vector<ComposedRequest>> compose_region(const DispatchGraph& dispatch, const Region& region) {
  const Graph& graph = dispatch.graph;
  const std::vector<NodeId> roots = find_roots(graph, region);
  if (roots.empty()) return placed(dispatch, region, Composer(dispatch, region).compose_map());
  const NodeId root = roots[0];
  if (const LoopKernel* nest = own_nest(graph.nodes[root])) {
    return placed(dispatch, region, Composer(dispatch, region).compose_nest(root, *nest));
  }
  const bool is_border = is_pad_in_place(dispatch, region, graph.nodes[root]);
  MILLRACE_TRY_ASSIGN(std::vector<KernelRequest> requests, build_root(graph, region, root, is_border));
  if (is_border) return borders(region, std::move(requests));
  LoopKernel* const loop = std::get_if<LoopKernel>(&requests[0]);
  if (region.nodes.size() > 1 && has_trait(std::get<OpNode>(graph.nodes[root].what).op, kFusibleLoad)) {
    return std::vector<ComposedRequest>{with_load(dispatch, region, root, std::move(requests[0]))};
  }
  if (!region.copies.empty()) return copies(graph, region, root, std::move(requests));
  if (!loop) return alone(dispatch, region, root, std::move(requests[0]));
  std::vector<RootNest> nests = {{root, std::move(*loop)}};
  for (const NodeId sibling : std::span(roots).subspan(1)) {
    MILLRACE_TRY_ASSIGN(requests, build_root(graph, region, sibling, false));
    nests.push_back({sibling, std::get<LoopKernel>(std::move(requests[0]))});
  }
  return placed(dispatch, region, Composer(dispatch, region).compose_roots(std::move(nests)));
}

}  // namespace millrace
