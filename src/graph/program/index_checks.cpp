// SPDX-License-Identifier: Apache-2.0
#include "graph/program/index_checks.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "graph/program/symbols.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

/// A binding of a session: its inputs, then its outputs.
std::optional<std::size_t> binding_of(const DispatchGraph& dispatch, Value value) {
  const Graph& graph = dispatch.graph;
  const auto input = std::ranges::find(graph.inputs, value.node);
  if (input != graph.inputs.end()) return static_cast<std::size_t>(input - graph.inputs.begin());
  const auto output = std::ranges::find_if(
      graph.outputs, [&](const GraphOutput& known) { return dispatch.storage_of(known.value) == value; });
  if (output == graph.outputs.end()) return {};
  return graph.inputs.size() + static_cast<std::size_t>(output - graph.outputs.begin());
}

IndexCheck make_check(const DispatchGraph& dispatch, NodeId id, const GatherAttrs& attributes) {
  const Graph& graph = dispatch.graph;
  const Value from = graph.nodes[id].operands[0], indices = graph.nodes[id].operands[1];
  const TensorType& from_type = graph.type(from);
  const auto rank = static_cast<std::int64_t>(from_type.shape.rank());
  IndexCheck check{node_text(graph, id),
                   value_text(graph, indices),
                   value_text(graph, from),
                   graph.type(indices),
                   from_type,
                   static_cast<std::size_t>(attributes.axis < 0 ? attributes.axis + rank : attributes.axis)};
  const Value storage = dispatch.storage_of(indices);
  const auto* constant = std::get_if<ConstantNode>(&graph.nodes[storage.node].what);
  if (constant != nullptr) check.constant = constant->data;
  if (constant == nullptr) check.binding = binding_of(dispatch, storage);
  return check;
}

std::vector<IndexCheck> checks_of(const DispatchGraph& dispatch, const Region& region) {
  std::vector<IndexCheck> checks;
  for (const NodeId id : region.nodes) {
    const auto* op = std::get_if<OpNode>(&dispatch.graph.nodes[id].what);
    const auto* attributes = op ? std::get_if<GatherAttrs>(&op->attributes) : nullptr;
    if (attributes) checks.push_back(make_check(dispatch, id, *attributes));
  }
  return checks;
}

struct WrongIndex {
  std::size_t position = 0;  // in row-major order
  std::int64_t index = 0;
};

template <class T>
std::optional<WrongIndex> find_wrong(std::span<const std::byte> bytes, std::int64_t extent) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T index;
    std::memcpy(&index, bytes.data() + i * sizeof index, sizeof index);
    if (index < -extent || index >= extent) return WrongIndex{i, index};
  }
  return {};
}

/// "[1, 3]", the position as one index per dim.
std::string position_text(const Shape& shape, std::size_t position) {
  std::string text;
  for (std::size_t d = shape.rank(); d-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[d].constant());
    text = fmt::format("{}{}{}", position % extent, text.empty() ? "" : ", ", text);
    position /= extent;
  }
  return "[" + text + "]";
}

/// One check for one run: types have numbers for symbols.
class BoundCheck {
 public:
  BoundCheck(const IndexCheck& check, const SymbolValues& values)
      : check_(check),
        indices_type_(bind_type(check.indices_type, values).value()),
        from_type_(bind_type(check.from_type, values).value()) {}

  std::optional<WrongIndex> find(std::span<const std::byte> bytes) const {
    return indices_type_.dtype == DType::kI32 ? find_wrong<std::int32_t>(bytes, extent())
                                              : find_wrong<std::int64_t>(bytes, extent());
  }

  /// Without the index: one of them is wrong.
  std::string text(const std::optional<WrongIndex>& wrong) const {
    const std::string which =
        wrong ? fmt::format("index {} at {}", wrong->index, position_text(indices_type_.shape, wrong->position))
              : "an index";
    const std::string remedy = extent() == 0 ? "the axis is empty, so no index is valid"
                                             : fmt::format("give {} to {}", -extent(), extent() - 1);
    return fmt::format("{}: {} of operand 1, {} of {}, is outside of axis {} of operand 0, {} of {}; {}", check_.node,
                       which, check_.indices, indices_type_.to_text(), check_.axis, check_.from, from_type_.to_text(),
                       remedy);
  }

 private:
  std::int64_t extent() const { return from_type_.shape[check_.axis].constant(); }

  const IndexCheck& check_;
  TensorType indices_type_, from_type_;
};

}  // namespace

std::vector<std::vector<IndexCheck>> find_index_checks(const DispatchGraph& dispatch, const Schedule& schedule,
                                                       const CommandList& commands) {
  std::vector<std::vector<IndexCheck>> of_command(commands.commands.size());
  std::size_t command = 0;
  for (const Step& step : schedule.steps) {
    // The commands are the steps in their order, and barriers.
    while (std::holds_alternative<BarrierCommand>(commands.commands[command])) ++command;
    if (step.region) of_command[command] = checks_of(dispatch, dispatch.regions[*step.region]);
    ++command;
  }
  return of_command;
}

namespace {

/// The bytes of a binding, in place or in `copy`; nothing when the device cannot say.
std::optional<std::span<const std::byte>> bytes_of(const BufferBinding& binding, Device& device,
                                                   std::vector<std::byte>& copy) {
  if (binding.buffer == nullptr) return std::span(static_cast<const std::byte*>(binding.data), binding.size_bytes);
  copy.resize(binding.size_bytes);
  if (!device.read_back(*binding.buffer, binding.offset_bytes, copy).ok()) return {};
  return copy;
}

}  // namespace

std::string describe_wrong_index(const std::vector<IndexCheck>& checks, const SymbolValues& values,
                                 std::span<const BufferBinding> bindings, Device& device) {
  std::string unknown;  // those whose indices are not there any more
  for (const IndexCheck& check : checks) {
    const BoundCheck bound(check, values);
    std::vector<std::byte> copy;
    std::optional<std::span<const std::byte>> bytes;
    if (check.constant) bytes = *check.constant;
    if (check.binding) bytes = bytes_of(bindings[*check.binding], device, copy);
    if (!bytes) {
      unknown += (unknown.empty() ? "" : "; or ") + bound.text({});
      continue;
    }
    if (const std::optional<WrongIndex> wrong = bound.find(*bytes)) return bound.text(wrong);
  }
  return unknown.empty() ? BoundCheck(checks.front(), values).text({}) : unknown;
}

}  // namespace millrace
