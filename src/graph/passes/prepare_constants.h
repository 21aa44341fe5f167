// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/base/status.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/graph.h"

namespace millrace {

/// Takes what depends on constants alone, and is worth it, out of the graph, of at most so many bytes in all. Returns
/// the graph that computes it, whose output k is the constant with ConstantNode::prepared k; nothing if there is none.
/// Not worth it are views, and what cheap elementwise ops make of single elements, iotas, or fewer bytes for an
/// elementwise reader: computing it there costs no more than reading memory. From the bodies of loops and branches it
/// is moved to the graph around them first. What a run could refuse, such as indices that are not known to be in range,
/// stays. What does not fit is noted in `unprepared`. O(nodes * operands).
Result<std::optional<Graph>> take_prepared(Graph&, std::uint64_t max_bytes,
                                           std::vector<UnpreparedConstant>& unprepared);

}  // namespace millrace
