// SPDX-License-Identifier: Apache-2.0
// Explains to people why two neighbours are two kernels, and what would join them.
#include <fmt/format.h>

#include "millrace/graph/dispatch.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

bool is_broadcast(const Node& node) {
  const auto* op = std::get_if<OpNode>(&node.what);
  return op != nullptr && op->op == Op::broadcast;
}

/// The obstacle text of kAfterView.
std::string view_text(const Graph& graph, const Separation& edge) {
  const std::string reader = node_text(graph, edge.other), view = node_text(graph, edge.node);
  const std::string value = value_text(graph, edge.value);
  if (is_broadcast(graph.nodes[edge.node])) {
    return fmt::format(
        "{0} needs each element at several points, because of {1}; if {2} is a reduction's result, reading it only in "
        "its own row would help; otherwise broadcast before {2}",
        reader, view, value);
  }
  return fmt::format("{} reads it through {} at other points; move the view before {} or after {}", reader, view, value,
                     value_text(graph, {edge.other, 0}));
}

/// The obstacle text of an edge whose regions are too large to be one.
std::string limit_text(const Graph& graph, const Separation& edge) {
  switch (edge.obstacle) {
    case JoinObstacle::kRowTooLong:
      return fmt::format(
          "each pass over rows of {} would walk {} bytes, expected at most {} so that they stay in cache; shorter rows "
          "would help",
          node_text(graph, edge.node), edge.found, edge.limit);
    case JoinObstacle::kTooManyNodes:
      return fmt::format(
          "they have {} nodes together, expected at most {}; fewer nodes would help, but one more pass over memory is "
          "cheap by comparison",
          edge.found, edge.limit);
    case JoinObstacle::kTooManyInstructions:
      return fmt::format(
          "they take about {} instructions together, expected at most {}; simpler functions would help, but one more "
          "pass over memory is cheap by comparison",
          edge.found, edge.limit);
    default:
      return {};
  }
}

/// The obstacle of an edge, and a remedy.
std::string obstacle_text(const Graph& graph, const Separation& edge) {
  const auto node = [&] { return node_text(graph, edge.node); };
  const auto other = [&] { return node_text(graph, edge.other); };
  const auto other_value = [&] { return value_text(graph, {edge.other, 0}); };
  const auto value = [&] { return value_text(graph, edge.value); };
  const auto reader = [&] { return node_text(graph, edge.reader); };
  switch (edge.obstacle) {
    case JoinObstacle::kControl:
      return fmt::format("the host decides what {} runs, so nothing is joined with it", node());
    case JoinObstacle::kReadsMemory:
      return fmt::format(
          "{0} can only load this operand from memory; move the operand's work after {0}, if the result is the same",
          node());
    case JoinObstacle::kAfterView:
      return view_text(graph, edge);
    case JoinObstacle::kAfterReshape:
      return fmt::format("{} reads it through {}, which shares its memory; move the reshape before {} or after {}",
                         other(), node(), value(), other_value());
    case JoinObstacle::kViewAlone:
      return fmt::format(
          "{} reads whole rows, and {} makes rows of elements that may be far apart; only memory in that "
          "order would help",
          reader(), node());
    case JoinObstacle::kTwoRoots:
      return fmt::format("a kernel holds only one of {} and {}; only a single op that does both would help", node(),
                         other());
    case JoinObstacle::kNoEpilogue:
      return fmt::format(
          "the kernel of {0} can fuse nothing after it; move the reader's work before {0}, if the result is the same",
          node());
    case JoinObstacle::kShapeDiffers:
      return fmt::format("its dispatch stores at the points of {}, {}; give both one shape", node(),
                         graph.type({edge.node, 0}).shape.to_text());
    case JoinObstacle::kPlaceDiffers:
      return fmt::format(
          "{} stores its results at different points or in different passes, and other nodes joined it at another "
          "place; only one place takes in what follows",
          node());
    case JoinObstacle::kWouldFormCycle:
      return fmt::format(
          "{} is between the two: it reads one, and the other needs it; only a different formula would help", node());
    case JoinObstacle::kReadByRoot:
      return fmt::format("{} reads it at other points, from memory; nothing helps while it does", node());
    case JoinObstacle::kRootInOperand:
      return fmt::format(
          "{} fuses elementwise nodes into its loop, and {} is not one; only a single op that does both would help",
          reader(), node());
    case JoinObstacle::kIsStored:
      return fmt::format(
          "{} is an output or a variable's new value, so it is in memory anyway; leave out that output or "
          "update",
          node());
    case JoinObstacle::kOtherReader:
      return fmt::format("{} reads it too, so it is in memory anyway; nothing helps while it does", node());
    case JoinObstacle::kRowTooLong:
    case JoinObstacle::kTooManyNodes:
    case JoinObstacle::kTooManyInstructions:
      return limit_text(graph, edge);
  }
  return {};
}

}  // namespace

std::string to_text(const Graph& graph, const Separation& edge) {
  return fmt::format("{} -> {}: {}", value_text(graph, edge.value), value_text(graph, {edge.reader, 0}),
                     obstacle_text(graph, edge));
}

}  // namespace millrace
