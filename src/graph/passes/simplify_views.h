// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "millrace/graph/graph.h"

namespace millrace {

/// A rule on views and casts, whose attributes decide: the value that stands for node `id`, or a node that does.
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
