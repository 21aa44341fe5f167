// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "millrace/graph/graph.h"

namespace millrace {

/// The result of a rule on views and casts: the value or the node that replaces node `id`. Unlike the rules of
/// simplify_rules.inc, these depend on attributes.
struct ViewRewrite {
  std::optional<Value> value;
  std::optional<Node> node;
};

struct ViewRule {
  std::string_view name;
  std::optional<ViewRewrite> (*apply)(const Graph&, NodeId id);
};

std::span<const ViewRule> view_rules();

}  // namespace millrace
