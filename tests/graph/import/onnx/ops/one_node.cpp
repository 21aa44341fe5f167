// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/import/onnx/ops/one_node.h"

#include "millrace/graph/onnx.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::test {
namespace {

MessageWriter model_of(const OneNode& model) {
  TestGraph graph{{model.node}, model.inputs, {}, model.constants};
  for (const std::string& output : model.node.outputs) {
    graph.outputs.push_back(MessageWriter().text(1, output));
  }
  return onnx_model(graph, model.version);
}

}  // namespace

std::string refusal(const OneNode& model) {
  const Result<OnnxModel> imported = import_onnx("m", model_of(model).file());
  if (imported.ok()) return "imported";
  const std::string message = imported.status().message();
  const std::string head = "onnx 'm': 1 part cannot be imported:\n  graph.node[0] (" + model.node.op + " '')";
  const std::string tail = " [ai.onnx " + std::to_string(model.version) + "]";
  if (!message.starts_with(head) || !message.ends_with(tail)) return message;
  return message.substr(head.size(), message.size() - head.size() - tail.size());
}

std::string types_of(const OneNode& model) {
  const Graph graph = import_onnx("m", model_of(model).file()).value().graph;
  std::string text;
  for (const GraphOutput& output : graph.outputs) {
    text += (text.empty() ? "" : " ") + graph.type(output.value).to_text();
  }
  return text;
}

std::vector<reference::Tensor> run_node(const OneNode& model, const std::vector<reference::Tensor>& inputs) {
  const OnnxModel imported = import_onnx("m", model_of(model).file()).value();
  const Program program = compile(imported.graph, suite_options()).value();
  return run_guarded(program, inputs).value();
}

}  // namespace millrace::test
