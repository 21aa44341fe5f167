// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/import/onnx/node_context.h"

namespace millrace {

/// The axes of an op that has them as an attribute before `operand_version`, and as operand 1 from then on. Counted
/// from the first; each at most once. Empty if the node has none. `rank`: of the tensor whose axes they are.
Result<std::optional<std::vector<std::int64_t>>> read_axes(OnnxNodeContext& node, std::int64_t operand_version,
                                                           std::size_t rank);
/// A list of sizes as a shape. Fails above rank 8.
Result<Shape> shape_of_sizes(OnnxNodeContext& node, std::size_t operand);

}  // namespace millrace
