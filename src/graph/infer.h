// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/graph/graph.h"

namespace millrace {

/// The result types of an op or kernel node from its operands' types; the message has no node name yet.
Result<std::vector<TensorType>> infer_node(const Node&, std::span<const TensorType> operands);

}  // namespace millrace
