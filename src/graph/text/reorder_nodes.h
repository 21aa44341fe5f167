// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/graph/graph.h"

namespace millrace {

/// Puts the nodes into this order. Nodes that `order` lacks come first, in their old order.
Graph reorder_nodes(Graph, const std::vector<NodeId>& order);

}  // namespace millrace
