// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "millrace/graph/graph.h"

namespace millrace {

/// The result of a rule that depends on attributes, which the rules of simplify_rules.inc cannot: the value or the node
/// that replaces node `id`.
struct NodeRewrite {
  std::optional<Value> value;
  std::optional<Node> node;
};

struct NodeRule {
  std::string_view name;
  std::optional<NodeRewrite> (*apply)(const Graph&, NodeId id);
};

std::span<const NodeRule> node_rules();

}  // namespace millrace
