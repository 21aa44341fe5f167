// SPDX-License-Identifier: Apache-2.0
#include "graph/program/index_checks.h"

#include <fmt/format.h>

#include "graph/text.h"

namespace millrace {
namespace {

std::string describe_node(const Graph& graph, NodeId id, const GatherAttrs& attributes) {
  const Node& node = graph.nodes[id];
  const TensorType& x = graph.type(node.operands[0]);
  const auto rank = static_cast<std::int64_t>(x.shape.rank());
  const std::int64_t axis = attributes.axis < 0 ? attributes.axis + rank : attributes.axis;
  const SizeExpr& extent = x.shape[static_cast<std::size_t>(axis)];
  return fmt::format("{} = {}: an index in operand 1, {}, is outside of axis {} of operand 0, {}; give {} to {}",
                     value_text(graph, {id, 0}), kind_name(node), graph.type(node.operands[1]).to_text(), axis,
                     x.to_text(), (SizeExpr(0) - extent).to_text(), (extent - 1).to_text());
}

std::string describe_region(const Graph& graph, const Region& region) {
  std::string text;
  for (const NodeId id : region.nodes) {
    const auto* op = std::get_if<OpNode>(&graph.nodes[id].what);
    const auto* attributes = op ? std::get_if<GatherAttrs>(&op->attributes) : nullptr;
    if (attributes) text += (text.empty() ? "" : "; or ") + describe_node(graph, id, *attributes);
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> describe_index_checks(const DispatchGraph& dispatch,
                                                         const std::vector<std::vector<KernelSequence>>& sequences,
                                                         const Schedule& schedule) {
  std::map<std::string, std::string> of_step;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::string text = describe_region(dispatch.graph, dispatch.regions[RegionId(i)]);
    if (text.empty()) continue;
    for (const KernelSequence& sequence : sequences[i]) {
      for (const SequenceKernel& part : sequence.kernels) of_step[part.kernel.name] = text;
    }
  }
  // Equal kernels are one, of the name of the first: it reports for all of its steps.
  std::map<std::string, std::string> of_kernel;
  for (const Step& step : schedule.steps) {
    const auto found = of_step.find(step.name);
    if (!step.kernel || found == of_step.end()) continue;
    std::string& text = of_kernel[schedule.kernels[*step.kernel].info.name];
    if (text.find(found->second) == std::string::npos) text += (text.empty() ? "" : "; or ") + found->second;
  }
  return of_kernel;
}

}  // namespace millrace
