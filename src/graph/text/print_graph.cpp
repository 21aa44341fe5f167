// SPDX-License-Identifier: Apache-2.0
// Prints graphs as text that parses back to the same graph, and names nodes for messages.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text/reader.h"
#include "graph/text/constant_text.h"
#include "millrace/base/indent.h"
#include "millrace/graph/text.h"
#include "millrace/jit/loop_kernel.h"
#include "ops/attributes_text.h"

namespace millrace {

std::string value_text(const Graph& graph, Value value) {
  const Node& node = graph.nodes[value.node];
  if (const std::string* name = source_name(node)) return "%" + name_text(*name);
  const std::string scope = "%" + graph.scopes.prefix_text(node.scope);
  const bool is_named = value.result < node.names.size() && !node.names[value.result].empty();
  if (is_named) return scope + name_text(node.names[value.result]);
  return node.results.size() == 1 ? fmt::format("{}{}", scope, index_of(value.node))
                                  : fmt::format("{}{}.{}", scope, index_of(value.node), value.result);
}

std::string node_text(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  std::string results;
  if (std::holds_alternative<VariableNode>(node.what)) results = value_text(graph, {id, 0});
  for (std::uint32_t i = 0; i < node.names.size(); ++i) {
    results += (results.empty() ? "" : ", ") + value_text(graph, {id, i});
  }
  if (results.empty()) results = fmt::format("%{}{}", graph.scopes.prefix_text(node.scope), index_of(id));
  return results + " = " + kind_name(node);
}

std::string caller_text(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (node.origin == nullptr) return node_text(graph, id);
  std::string results;
  for (std::uint32_t i = 0; i < node.names.size(); ++i) {
    results += (results.empty() ? "" : ", ") + value_text(graph, {id, i});
  }
  return results.empty() ? graph.scopes.prefix_text(node.scope) + node.origin->function
                         : results + " = " + node.origin->function;
}

namespace {

class GraphPrinter {
 public:
  /// `printed_symbols` holds the symbols whose facts the text has already printed.
  GraphPrinter(const Graph& graph, const TextOptions& options, std::map<std::string, Dim>& printed_symbols)
      : graph_(graph), options_(options), printed_symbols_(printed_symbols) {}

  std::string print() {
    std::string inputs;
    for (const NodeId id : graph_.inputs) {
      inputs += fmt::format("{}{}: {}", inputs.empty() ? "" : ", ", value_text(graph_, {id, 0}),
                            graph_.type({id, 0}).to_text(printed_symbols_));
    }
    std::string text = fmt::format("graph {}({}) {{\n", name_text(graph_.name), inputs);
    // Leading inputs need no line of their own.
    std::uint32_t num_leading = 0;
    while (num_leading < graph_.inputs.size() && index_of(graph_.inputs[num_leading]) == num_leading) ++num_leading;
    for (std::uint32_t i = num_leading; i < graph_.nodes.size(); ++i) text += statement(NodeId{i});
    for (const auto& [variable, value] : graph_.updates) {
      text += fmt::format("  update {} = {}\n", value_text(graph_, {variable, 0}), value_text(graph_, value));
    }
    std::string outputs;
    for (const GraphOutput& output : graph_.outputs) {
      outputs += fmt::format("{} {} = {}", outputs.empty() ? "" : ",", name_text(output.name),
                             value_text(graph_, output.value));
    }
    return fmt::format("{}  return{}\n}}\n", text, outputs);
  }

 private:
  std::string statement(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (std::holds_alternative<InputNode>(node.what)) return fmt::format("  input {}\n", value_text(graph_, {id, 0}));
    std::string results, operands;
    for (std::uint32_t i = 0; i < node.results.size(); ++i) {
      results += (i == 0 ? "" : ", ") + value_text(graph_, {id, i});
    }
    for (const Value& operand : node.operands) operands += (operands.empty() ? "" : ", ") + value_text(graph_, operand);
    std::string operation = kind_name(node), attributes;
    if (const auto* kernel = std::get_if<KernelNode>(&node.what)) {
      operation = "kernel " + name_text(kernel->kernel.name);
    } else if (std::holds_alternative<NestNode>(node.what)) {
      operation = "kernel";
    } else if (const SharedBytes* stored = elements_of(node)) {
      operands = elements_text(id, node.results[0], *stored);
    } else if (const auto* op = std::get_if<OpNode>(&node.what)) {
      std::optional<DType> elements;
      if (!node.operands.empty()) elements = graph_.type(node.operands[0]).dtype;
      attributes = attributes_text(op->attributes, elements, &printed_symbols_);
    }
    const std::string bodies = bodies_text(node);
    std::string types;  // printed after the attributes, which may introduce a symbol
    for (const TensorType& type : node.results) types += (types.empty() ? "" : ", ") + type.to_text(printed_symbols_);
    return fmt::format("  {} = {}({}){}{}{} : {}\n", results, operation, operands, attributes.empty() ? "" : " ",
                       attributes, bodies, types);
  }

  std::string bodies_text(const Node& node) {
    std::string text;
    TextOptions options = options_;
    // The entries of a file are named by node indices in the outer graph, so a file cannot hold a body's constants.
    if (options.large == LargeConstants::kFile) options.large = LargeConstants::kBytes;
    for (const Graph* body : bodies_of(node)) {
      text += indented(GraphPrinter(*body, options, printed_symbols_).print(), "    ");
    }
    if (const auto* own = std::get_if<NestNode>(&node.what)) text = indented(millrace::to_text(*own->nest), "    ");
    return text.empty() ? text : " {\n" + text + "  }";
  }

  std::string elements_text(NodeId id, const TensorType& type, const SharedBytes& data) const {
    if (data.empty()) return {};
    if (!is_large(type) || data.size() == size_bytes(type.dtype)) return listed_text(type, data);
    for (const MappedFile& file : options_.mapped) {
      if (const auto offset = file.offset_of(data)) return fmt::format("file({}, {})", string_text(file.path), *offset);
    }
    switch (options_.large) {
      case LargeConstants::kBytes:
        return bytes_text(data);
      case LargeConstants::kShortened:
        return shortened_text(type, data);
      case LargeConstants::kFile:
        return fmt::format("file({}, \"{}\")", string_text(options_.file), index_of(id));
    }
    return {};
  }

  const Graph& graph_;
  const TextOptions& options_;
  std::map<std::string, Dim>& printed_symbols_;
};

}  // namespace

std::string to_text(const Graph& graph, const TextOptions& options) {
  std::map<std::string, Dim> printed_symbols;
  return GraphPrinter(graph, options, printed_symbols).print();
}

}  // namespace millrace
