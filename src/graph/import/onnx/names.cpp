// SPDX-License-Identifier: Apache-2.0
// Copies the names of nodes and values into the graph: exporters write the modules of a model into them, as paths.
#include "graph/import/onnx/names.h"

#include "graph/import/onnx/messages.h"

namespace millrace {
namespace {

constexpr std::size_t kMaxScopes = 32;
/// Longer names are not kept: nodes of functions would copy them once per call.
constexpr std::size_t kMaxNameBytes = 512;

/// The scopes in a node's name, up to and including the last '/': "/encoder/layers.0/" of "/encoder/layers.0/MatMul".
std::string_view scope_part(const NodeProto& node) {
  const std::size_t end = node.name.rfind('/');
  if (node.name.size() > kMaxNameBytes) return {};
  return end == std::string_view::npos ? std::string_view() : node.name.substr(0, end + 1);
}

}  // namespace

OnnxNodeNames::OnnxNodeNames(GraphBuilder& graph, const NodeProto& node) {
  std::string_view rest = scope_part(node);
  while (!rest.empty() && scopes_.size() < kMaxScopes) {
    const std::size_t end = rest.find('/');
    if (end > 0) scopes_.emplace_back(graph, rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
}

OnnxNodeNames::~OnnxNodeNames() {
  while (!scopes_.empty()) scopes_.pop_back();
}

void name_result(const NodeProto& node, std::string_view name, const OnnxValue& value) {
  const Tensor* tensor = value.tensor();
  if (tensor == nullptr || !tensor->is_valid() || name.size() > kMaxNameBytes) return;
  const std::string_view scopes = scope_part(node);
  if (!scopes.empty() && name.size() > scopes.size() && name.starts_with(scopes)) name.remove_prefix(scopes.size());
  tensor->named(name);
}

namespace {

void add_read_names(std::span<const NodeProto> nodes, std::set<std::string_view>& names);

void add_read_names(const GraphProto& graph, std::set<std::string_view>& names) {
  add_read_names(graph.node, names);
  for (const ValueInfoProto& output : graph.output) names.insert(output.name);
}

void add_read_names(std::span<const NodeProto> nodes, std::set<std::string_view>& names) {
  for (const NodeProto& node : nodes) {
    names.insert(node.input.begin(), node.input.end());
    for (const AttributeProto& attribute : node.attribute) {
      if (attribute.g != nullptr) add_read_names(*attribute.g, names);
      for (const GraphProto& graph : attribute.graphs) add_read_names(graph, names);
    }
  }
}

}  // namespace

std::set<std::string_view> read_names(const ModelProto& model) {
  std::set<std::string_view> names;
  if (model.graph) add_read_names(*model.graph, names);
  for (const FunctionProto& function : model.functions) {
    add_read_names(function.node, names);
    names.insert(function.output.begin(), function.output.end());
  }
  return names;
}

}  // namespace millrace
