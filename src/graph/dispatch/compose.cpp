// SPDX-License-Identifier: Apache-2.0
// Composes a region into one LoopKernel by pulling: to compute a value at an index, compute its operands at that index
// (for a view, at the mapped index) and run its body. Values from outside the region are loaded.
#include "graph/dispatch/compose.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "graph/dispatch/node_instructions.h"
#include "graph/dispatch/views.h"
#include "jit/ir/affine.h"
#include "millrace/graph/text.h"
#include "millrace/ops/op_def.h"
#include "ops/iota.h"
#include "ops/pad.h"

namespace millrace {
namespace {

using Indices = std::vector<AffineIndex>;

/// A 16-bit node rounds to its dtype even if its value is never stored.
BodyValue round_to(BodyBuilder& b, DType dtype, BodyValue value) {
  if (dtype == DType::kF16 || dtype == DType::kBF16) return b.convert(DType::kF32, b.convert(dtype, value));
  return value;
}

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

/// A value of the body under construction that is already computed at an index.
struct Computed {
  Value value;
  Indices indices;
  BodyValue result;
};

/// A node of the region that has a loop nest of its own.
struct RootNest {
  NodeId node{};
  LoopKernel nest;
};

class Composer {
 public:
  Composer(const DispatchGraph& dispatch, const Region& region)
      : dispatch_(dispatch),
        graph_(dispatch.graph),
        region_(region),
        members_(region.nodes.begin(), region.nodes.end()) {}

  /// Composes a region that has only elementwise nodes and views, as a map over the points of the outputs.
  ComposedRequest compose_map() {
    const Indices point = set_domain(graph_.type(region_.outputs[0]).shape);
    BodyBuilder epilogue;
    return finish(epilogue, point);
  }

  /// The map that computes `value` from the region's inputs, for a sort or scan that reads it as `input`.
  ComposedRequest compose_load(Value value, const KernelTensor& input) {
    BodyBuilder body;
    const Indices point = set_domain(input.type.shape);
    body.yield(pull(body, value, point));
    kernel_.name = region_.name + "_load";
    kernel_.results = {input};
    kernel_.stores = {{0, point, std::nullopt, std::nullopt}};
    kernel_.epilogue = body.finish();
    return {std::move(kernel_), operands_, {}};
  }

  /// The nests of all roots have the same domain, and store their results at the same points.
  ComposedRequest compose_roots(std::span<const RootNest> roots) {
    kernel_.domain = roots[0].nest.domain;
    for (const RootNest& root : roots) roots_.insert(root.node);
    std::vector<Numbering> numberings;
    BodyBuilder term;
    for (const auto& [node, nest] : roots) {
      numberings.push_back({kernel_.reductions.size(), kernel_.extents.size()});
      kernel_.reductions.insert(kernel_.reductions.end(), nest.reductions.begin(), nest.reductions.end());
      kernel_.extents.insert(kernel_.extents.end(), nest.extents.begin(), nest.extents.end());
      for (BodyValue value : inline_root(term, node, nest, nest.term, numberings.back())) term.yield(value);
    }
    kernel_.term = term.finish();
    computed_.clear();
    BodyBuilder epilogue;
    const Indices& point = roots[0].nest.stores[0].indices;
    for (std::size_t i = 0; i < roots.size(); ++i) {
      const auto& [node, nest] = roots[i];
      const BodyValue stored = inline_root(epilogue, node, nest, nest.epilogue, numberings[i])[0];
      const Value result{node, 0};  // an op that is a loop nest has one result
      computed_.push_back({result, point, round_to(epilogue, graph_.type(result).dtype, stored)});
    }
    return finish(epilogue, point);
  }

 private:
  /// Sets the domain to the points of the shape, and returns the index of each dim.
  Indices set_domain(const Shape& shape) {
    Indices point;
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      kernel_.domain.push_back({fmt::format("d{}", d), shape[d], false});
      point.push_back(dim_index(shape.rank(), d));
    }
    return point;
  }
  std::uint32_t operand_number(Value value) {
    const auto it = std::find(operands_.begin(), operands_.end(), value);
    if (it != operands_.end()) return static_cast<std::uint32_t>(it - operands_.begin());
    operands_.push_back(value);
    const TensorType& type = graph_.type(value);
    kernel_.operands.push_back({fmt::format("x{}", operands_.size() - 1), type, Layout::row_major(type.shape)});
    return static_cast<std::uint32_t>(operands_.size() - 1);
  }

  std::uint32_t access_number(Access access) {
    const auto it = std::find(kernel_.loads.begin(), kernel_.loads.end(), access);
    if (it != kernel_.loads.end()) return static_cast<std::uint32_t>(it - kernel_.loads.begin());
    kernel_.loads.push_back(std::move(access));
    return static_cast<std::uint32_t>(kernel_.loads.size() - 1);
  }

  /// The first numbers of one root's reductions and extents in the kernel.
  struct Numbering {
    std::size_t reduction = 0, extent = 0;
  };

  /// Inlines a root's own body. Pulls the values of plain loads; loads with a fill value or a dynamic dim stay loads.
  std::vector<BodyValue> inline_root(BodyBuilder& b, NodeId id, const LoopKernel& loop, const Body& body,
                                     const Numbering& first) {
    const Node& root = graph_.nodes[id];
    return b.inline_body(body, [&](const BodyInstruction& instruction) -> std::optional<BodyValue> {
      if (instruction.op == KernelOp::kReduced) {
        return b.reduced(static_cast<std::uint32_t>(first.reduction + instruction.immediate), instruction.dtype);
      }
      if (instruction.op == KernelOp::kExtent) {
        return b.extent(static_cast<std::uint32_t>(first.extent + instruction.immediate));
      }
      if (instruction.op != KernelOp::kLoad) return std::nullopt;
      Access access = loop.loads[instruction.immediate];
      const Value value = root.operands[access.tensor];
      if (!access.fill && !access.dynamic_dim) return pull(b, value, access.indices);
      access.tensor = operand_number(value);
      const std::uint32_t number = access_number(std::move(access));
      if (instruction.num_operands == 0) return b.load(number, instruction.dtype);
      return b.load(number, instruction.dtype, BodyValue{instruction.operands[0], DType::kI64});
    });
  }

  BodyValue pull(BodyBuilder& b, Value value, const Indices& indices) {
    for (const Computed& done : computed_) {
      if (done.value == value && done.indices == indices) return done.result;
    }
    const BodyValue result = compute(b, value, indices);
    computed_.push_back({value, indices, result});
    return result;
  }

  BodyValue compute(BodyBuilder& b, Value value, const Indices& indices) {
    const Node& node = graph_.nodes[value.node];
    if (const std::optional<Scalar> scalar = scalar_constant(node)) return b.constant_scalar(*scalar);
    if (!members_.contains(value.node) || roots_.contains(value.node)) return load(b, value, indices);
    if (is_index_view(node)) return pull(b, node.operands[0], look_through(graph_, node, indices));
    if (const auto* iota = iota_attributes(node)) {
      const BodyValue index = index_value(b, indices[iota_axis(*iota)], kernel_.extents);
      return round_to(b, iota->dtype, iota_value(b, *iota, index));
    }
    std::vector<BodyValue> operands;
    for (const Value& operand : node.operands) operands.push_back(pull(b, operand, indices));
    return round_to(b, graph_.type(value).dtype, record_body(b, graph_, node, std::move(operands)));
  }

  BodyValue load(BodyBuilder& b, Value value, const Indices& indices) {
    const std::uint32_t access = access_number({operand_number(value), indices, std::nullopt, std::nullopt});
    return b.load(access, body_dtype(graph_.type(value).dtype));
  }

  /// A one-element constant becomes an immediate.
  std::optional<Scalar> scalar_constant(const Node& node) const {
    const auto* constant = std::get_if<ConstantNode>(&node.what);
    if (!constant || constant->data.size() != size_bytes(node.results[0].dtype)) return std::nullopt;
    const DType dtype = node.results[0].dtype;
    const Scalar stored = load_scalar(dtype, constant->data.data());
    const auto bits = static_cast<std::uint16_t>(stored.bits);
    if (dtype == DType::kF16) return Scalar::of(static_cast<float>(Half::from_bits(bits)));
    if (dtype == DType::kBF16) return Scalar::of(static_cast<float>(BFloat16::from_bits(bits)));
    return stored;
  }

  ComposedRequest finish(BodyBuilder& epilogue, const Indices& point) {
    for (const Value& output : region_.outputs) {
      epilogue.yield(pull(epilogue, output, point));
      const TensorType& type = graph_.type(output);
      const auto number = static_cast<std::uint32_t>(kernel_.results.size());
      kernel_.results.push_back({fmt::format("y{}", number), type, dispatch_.layout_of(output)});
      kernel_.stores.push_back({number, point, std::nullopt, std::nullopt});
    }
    kernel_.name = region_.name;
    kernel_.epilogue = epilogue.finish();
    return {std::move(kernel_), operands_, region_.outputs};
  }

  const DispatchGraph& dispatch_;
  const Graph& graph_;
  const Region& region_;
  std::set<NodeId> members_;
  std::set<NodeId> roots_;
  LoopKernel kernel_;
  std::vector<Value> operands_;
  std::vector<Computed> computed_;
};

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
  return placed(dispatch, region, Composer(dispatch, region).compose_roots(nests));
}

}  // namespace millrace
