// SPDX-License-Identifier: Apache-2.0
// Computes tensors that a model derives from constants and that the importer must know, such as the scales of a Resize.
#include "graph/import/onnx/fold_tensor.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/guard_allocations.h"
#include "graph/import/onnx/value.h"
#include "graph/passes/constant_elements.h"
#include "millrace/graph/passes.h"

namespace millrace {
namespace {

constexpr std::size_t kMaxNodes = 256;
constexpr std::int64_t kMaxElements = 64 * 1024;

/// The nodes that compute the tensor, including node `end` itself. Empty if there are too many of them, if their
/// results are too large, or if they depend on anything except constants.
std::set<NodeId> find_origins(const GraphBuilder& builder, NodeId end, OnnxFolding& folding) {
  // A node that reads an unfoldable node cannot be folded either. Without the mark, each node of a chain would walk all
  // nodes before it again.
  const auto give_up = [&] {
    folding.mark_unfoldable(end);
    return std::set<NodeId>();
  };
  std::set<NodeId> found;
  std::uint64_t num_elements = 0;
  bool has_iota = false, has_gather = false;
  std::vector<NodeId> open = {end};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!found.insert(id).second) continue;
    if (folding.is_unfoldable(id) || builder.is_in_body(id) || found.size() > kMaxNodes) return give_up();
    const Node& node = builder.graph().nodes[id];
    const auto* op = std::get_if<OpNode>(&node.what);
    const bool is_known = std::holds_alternative<ConstantNode>(node.what) || (op != nullptr && op->op == Op::iota);
    if (!is_known && (op == nullptr || node.operands.empty())) return give_up();
    has_iota = has_iota || (op != nullptr && op->op == Op::iota);
    has_gather = has_gather || (op != nullptr && op->op == Op::gather);
    for (const TensorType& type : node.results) {
      const SizeExpr elements = type.shape.num_elements();
      if (!elements.is_constant() || elements.constant() > kMaxElements) return give_up();
      num_elements += static_cast<std::uint64_t>(elements.constant()) + 1;
    }
    for (const Value& operand : node.operands) {
      if (folding.is_unfoldable(operand.node)) return give_up();
      open.push_back(operand.node);
    }
  }
  // A kernel computes a range as fast as it would load one, so folding it gains nothing. A range that a gather reads as
  // indices is folded, because it decides which elements a flip returns.
  if (has_iota && !has_gather) return {};
  if (num_elements > folding.element_room) return give_up();
  folding.element_room -= num_elements;
  return found;
}

const SharedBytes& constant_bytes(const Graph& graph, const Value& value) {
  return std::get<ConstantNode>(graph.nodes[value.node].what).data;
}

/// The bytes of a broadcast of a constant.
std::vector<std::byte> broadcast_bytes(const Graph& graph, const Node& node, const SharedBytes& from) {
  const auto& dims = std::get<BroadcastAttrs>(std::get<OpNode>(node.what).attributes).dims;
  const TensorType& type = node.results[0];
  const Shape& operand = graph.type(node.operands[0]).shape;
  const Layout layout = Layout::row_major(operand);
  const std::size_t size = size_bytes(type.dtype), rank = type.shape.rank();
  std::vector<std::size_t> extents(rank), strides(rank), index(rank);  // strides in bytes of the operand
  for (std::size_t d = 0; d < rank; ++d) extents[d] = static_cast<std::size_t>(type.shape[d].constant());
  for (std::size_t o = 0; o < dims.size(); ++o) {
    const auto d = static_cast<std::size_t>(dims[o]);
    if (!operand[o].is(1)) strides[d] = static_cast<std::size_t>(layout.strides[o].constant()) * size;
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(type.shape.num_elements().constant()) * size);
  std::size_t at = 0;
  for (std::size_t place = 0; place < bytes.size(); place += size) {
    std::memcpy(bytes.data() + place, from.data() + at, size);
    for (std::size_t d = rank; d-- > 0;) {
      at += strides[d];
      if (++index[d] < extents[d]) break;
      at -= strides[d] * extents[d];
      index[d] = 0;
    }
  }
  return bytes;
}

/// The bytes of a concatenation of constants: for each index of the dims before the axis, one run of each operand.
std::vector<std::byte> joined_bytes(const Graph& graph, const Node& node) {
  const std::int64_t given = std::get<AxisAttrs>(std::get<OpNode>(node.what).attributes).axis;
  const Shape& shape = node.results[0].shape;
  const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(shape.rank()) : given);
  std::int64_t count = 1;
  for (std::size_t d = 0; d < axis; ++d) count *= shape[d].constant();
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    for (const Value& operand : node.operands) {
      const SharedBytes& from = constant_bytes(graph, operand);
      const auto run = static_cast<std::int64_t>(from.size()) / count;
      bytes.insert(bytes.end(), from.begin() + i * run, from.begin() + (i + 1) * run);
    }
  }
  return bytes;
}

/// The bytes of a gather from a constant. Empty if an index is out of range, because runs report that error.
std::optional<std::vector<std::byte>> gathered_bytes(const Graph& graph, const Node& node) {
  const std::int64_t given = std::get<GatherAttrs>(std::get<OpNode>(node.what).attributes).axis;
  const Shape& shape = graph.type(node.operands[0]).shape;
  const TensorType& indices = graph.type(node.operands[1]);
  const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(shape.rank()) : given);
  const std::int64_t extent = shape[axis].constant();
  std::int64_t count = 1, run = static_cast<std::int64_t>(size_bytes(node.results[0].dtype));
  for (std::size_t d = 0; d < axis; ++d) count *= shape[d].constant();
  for (std::size_t d = axis + 1; d < shape.rank(); ++d) run *= shape[d].constant();
  const std::optional<std::vector<std::int64_t>> places =
      integers_of(OnnxConstant{indices, constant_bytes(graph, node.operands[1])});
  const SharedBytes& from = constant_bytes(graph, node.operands[0]);
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    for (const std::int64_t place : *places) {
      if (place < -extent || place >= extent) return {};
      const auto* first = from.begin() + (i * extent + (place < 0 ? place + extent : place)) * run;
      bytes.insert(bytes.end(), first, first + run);
    }
  }
  return bytes;
}

std::vector<std::byte> iota_bytes(const Node& node) {
  const auto& attributes = std::get<IotaAttrs>(std::get<OpNode>(node.what).attributes);
  const TensorType& type = node.results[0];
  const auto axis = static_cast<std::size_t>(
      attributes.axis < 0 ? attributes.axis + static_cast<std::int64_t>(type.shape.rank()) : attributes.axis);
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < type.shape.rank(); ++d) inner *= type.shape[d].constant();
  const auto count = static_cast<std::size_t>(type.shape.num_elements().constant());
  std::vector<std::byte> bytes(count * size_bytes(type.dtype));
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t index = static_cast<std::int64_t>(i) / inner % type.shape[axis].constant();
    store_element(type.dtype, bytes, i, Scalar::from_int(type.dtype, index));
  }
  return bytes;
}

/// The bytes of the node's result, for ops that fold_constants does not fold. Empty for other ops. Precondition: the
/// operands are constants.
std::optional<std::vector<std::byte>> folded_bytes(const Graph& graph, const Node& node) {
  const auto* op = std::get_if<OpNode>(&node.what);
  if (op == nullptr) return {};
  switch (op->op) {
    case Op::broadcast:
      return broadcast_bytes(graph, node, constant_bytes(graph, node.operands[0]));
    case Op::concat:
      return joined_bytes(graph, node);
    case Op::gather:
      return gathered_bytes(graph, node);
    case Op::iota:
      // The indices of a flip, or an integer range. Float ranges are not folded: store_element() would need f32 scalars
      // for f16 and bf16.
      return is_float(node.results[0].dtype) ? std::nullopt : std::optional(iota_bytes(node));
    default:
      return {};
  }
}

/// Folds nodes with constant operands that fold_constants does not fold. Returns whether it folded any.
bool fold_rest(Graph& graph) {
  bool has_changed = false;
  const auto is_constant = [&](const Value& operand) {
    return std::holds_alternative<ConstantNode>(graph.nodes[operand.node].what);
  };
  for (Node& node : graph.nodes) {
    if (!std::ranges::all_of(node.operands, is_constant)) continue;
    std::optional<std::vector<std::byte>> bytes = folded_bytes(graph, node);
    if (!bytes) continue;
    node = Node{ConstantNode{*std::move(bytes)}, {}, node.results};
    has_changed = true;
  }
  return has_changed;
}

}  // namespace

Result<std::optional<OnnxConstant>> fold_tensor(const Tensor& tensor, OnnxFolding& folding) {
  using Folded = std::optional<OnnxConstant>;
  const std::set<NodeId> origins = find_origins(*tensor.builder(), tensor.value().node, folding);
  Graph graph;
  std::map<NodeId, NodeId> moved;
  for (const NodeId id : origins) {
    Node node = tensor.builder()->graph().nodes[id];
    node.names.clear();
    node.scope.reset();
    for (Value& operand : node.operands) operand.node = moved.at(operand.node);
    moved[id] = graph.nodes.push_back(std::move(node));
  }
  if (origins.empty()) return Folded();
  graph.outputs = {{"result", {moved.at(tensor.value().node), tensor.value().result}}};
  do {
    MILLRACE_TRY(unguarded(fold_constants(graph)));
    const Value result = graph.outputs[0].value;
    if (const auto* constant = std::get_if<ConstantNode>(&graph.nodes[result.node].what)) {
      return Folded(OnnxConstant{graph.type(result), constant->data});
    }
  } while (fold_rest(graph));
  folding.mark_unfoldable(tensor.value().node);
  return Folded();
}

}  // namespace millrace
