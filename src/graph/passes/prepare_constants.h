// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/base/status.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/graph.h"

namespace millrace {

/// Moves work that depends on constants alone out of the graph, as far as its results fit into `max_bytes` in all.
/// Returns the graph that computes it, or nothing. Its output k is the constant with ConstantNode::prepared k. Views
/// stay, and so do cheap elementwise ops on single elements, on iotas, or on fewer bytes than they make for an
/// elementwise reader, because computing them there costs no more than reading memory. Work in the bodies of loops and
/// branches is moved to the graph around them first. Work that a run could refuse, such as a gather whose indices are
/// not known to be in range, stays. What does not fit is listed in `unprepared`. O(nodes * operands).
Result<std::optional<Graph>> take_prepared(Graph&, std::uint64_t max_bytes,
                                           std::vector<UnpreparedConstant>& unprepared);

}  // namespace millrace
