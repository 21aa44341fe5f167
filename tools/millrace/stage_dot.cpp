// SPDX-License-Identifier: Apache-2.0
// Draws graphs, dispatches and schedules for `millrace dump --format dot`.
#include "tools/millrace/stage_dot.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/text.h"

namespace millrace::tool {
namespace {

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return result + "\"";
}

std::string label(const Node& node) {
  if (const std::string* name = source_name(node)) return printable(*name);
  const auto* op = std::get_if<OpNode>(&node.what);
  const std::string attributes = op != nullptr ? to_text(op->attributes) : "";
  return kind_name(node) + (attributes.empty() ? "" : "\n" + attributes);
}

std::string_view shape_of(const Node& node) {
  if (std::holds_alternative<InputNode>(node.what)) return "ellipse";
  if (std::holds_alternative<VariableNode>(node.what)) return "cylinder";
  return std::holds_alternative<ConstantNode>(node.what) ? "note" : "box";
}

std::string arrow(const Graph& graph, Value from, const std::string& to) {
  return fmt::format("  n{} -> {} [label={}];\n", index_of(from.node), to, in_quotes(graph.type(from).to_text()));
}

}  // namespace

std::string graph_dot(const Graph& graph) {
  std::string text = fmt::format("digraph {} {{\n", in_quotes(printable(graph.name)));
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId{i}];
    text += fmt::format("  n{} [label={}, shape={}];\n", i, in_quotes(label(node)), shape_of(node));
    for (const Value& operand : node.operands) text += arrow(graph, operand, fmt::format("n{}", i));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    text += fmt::format("  out{} [label={}, shape=ellipse];\n", i, in_quotes(printable(graph.outputs[i].name)));
    text += arrow(graph, graph.outputs[i].value, fmt::format("out{}", i));
  }
  for (const auto& [variable, value] : graph.updates) {
    text += fmt::format("  n{} -> n{} [label={}, style=dashed];\n", index_of(value.node), index_of(variable),
                        in_quotes(graph.type(value).to_text()));
  }
  return text + "}\n";
}

namespace {

std::string node_line(const std::string& id, const std::string& label, std::string_view shape) {
  return fmt::format("  {} [label={}, shape={}];\n", id, in_quotes(label), shape);
}

std::string edge(const std::string& from, const std::string& to, const std::string& label) {
  return fmt::format("  {} -> {} [label={}];\n", from, to, in_quotes(label));
}

class DispatchDot {
 public:
  explicit DispatchDot(const DispatchGraph& dispatch) : dispatch_(dispatch), graph_(dispatch.graph) {}

  std::string draw() {
    text_ = fmt::format("digraph {} {{\n", in_quotes(printable(graph_.name)));
    for (std::uint32_t i = 0; i < dispatch_.regions.size(); ++i) draw_region(RegionId{i});
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const std::string id = fmt::format("out{}", i);
      text_ += node_line(id, printable(graph_.outputs[i].name), "ellipse");
      draw_reads(graph_.outputs[i].value, id);
    }
    for (const auto& [variable, value] : graph_.updates) draw_reads(value, draw_source(variable));
    return text_ + "}\n";
  }

 private:
  void draw_region(RegionId id) {
    const Region& region = dispatch_.regions[id];
    std::string label = region.name;
    for (const NodeId node : region.nodes) label += "\n" + node_text(graph_, node);
    const std::string name = fmt::format("r{}", index_of(id));
    text_ += node_line(name, label, "box");
    for (const Value& input : region.inputs) draw_reads(input, name);
    for (const Value& output : region.outputs) stored_by_.emplace(output, name);
  }

  /// Draws an edge to `reader` from each place that holds the value or a part of it: a region that stores it, an input,
  /// a constant or a variable.
  void draw_reads(Value value, const std::string& reader) {
    const Value storage = dispatch_.storage_of(value);
    const std::string label = value_text(graph_, value) + ": " + graph_.type(value).to_text();
    if (const auto region = stored_by_.find(storage); region != stored_by_.end()) {
      text_ += edge(region->second, reader, label);
      return;
    }
    const Node& node = graph_.nodes[storage.node];
    if (is_source(node)) {
      text_ += edge(draw_source(storage.node), reader, label);
      return;
    }
    for (const Value& operand : node.operands) draw_reads(operand, reader);  // a concat without a region
  }

  /// Returns the id of an input, a constant or a variable.
  std::string draw_source(NodeId source) {
    const std::string id = fmt::format("n{}", index_of(source));
    const Node& node = graph_.nodes[source];
    if (drawn_.insert(source).second) text_ += node_line(id, label(node), shape_of(node));
    return id;
  }

  const DispatchGraph& dispatch_;
  const Graph& graph_;
  std::string text_;
  std::map<Value, std::string> stored_by_;
  std::set<NodeId> drawn_;  // inputs, constants and variables
};

}  // namespace

std::string dispatch_dot(const DispatchGraph& dispatch) { return DispatchDot(dispatch).draw(); }

std::string schedule_dot(const Schedule& schedule) {
  std::string text = "digraph schedule {\n";
  for (std::uint32_t i = 0; i < schedule.resources.size(); ++i) {
    const Resource& resource = schedule.resources[ResourceId{i}];
    const std::string label = fmt::format("{} {}\n{} bytes", to_text(resource.lifetime), printable(resource.name),
                                          resource.size_bytes.to_text());
    text += node_line(fmt::format("m{}", i), label, "ellipse");
  }
  std::map<std::uint32_t, std::string> rows;
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[StepId{i}];
    const std::string id = fmt::format("s{}", i);
    const std::string groups = step.kernel ? fmt::format("\ngroups {}", step.num_groups.to_text()) : "";
    text += node_line(id, fmt::format("@{} {}{}", step.timepoint, printable(step.display_name()), groups), "box");
    rows[step.timepoint] += " " + id + ";";
    for (const ResourceUse& use : step.uses) {
      const std::string resource = fmt::format("m{}", index_of(use.resource));
      const ByteRange bytes = schedule.touched_bytes(use);
      const std::string range =
          fmt::format("{} bytes at {}", bytes.length_bytes.to_text(), bytes.offset_bytes.to_text());
      text += use.is_written ? edge(id, resource, range) : edge(resource, id, range);
    }
  }
  for (const auto& [timepoint, steps] : rows) text += fmt::format("  {{ rank=same;{} }}\n", steps);
  return text + "}\n";
}

}  // namespace millrace::tool
