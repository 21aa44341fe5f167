// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/import/onnx/node_context.h"

namespace millrace {

/// The axes of an op that has them as an attribute before `operand_version`, and as operand 1 from then on. Counted
/// from the first; each at most once. Empty if the node has none. `rank`: of the tensor whose axes they are.
Result<std::optional<std::vector<std::int64_t>>> read_axes(OnnxNodeContext& node, std::int64_t operand_version,
                                                           std::size_t rank);
/// Whether the number of elements of a tensor with these dims can be written as a sum of at most 500 terms. Multiplying
/// out others takes time and memory that grow with the product of their terms.
bool can_count_elements(std::span<const SizeExpr> dims);
/// A list of sizes as a shape. Fails above rank 8, and if can_count_elements() does not hold.
Result<Shape> shape_of_sizes(OnnxNodeContext& node, std::size_t operand);
/// Makes a dim of the tensor a multiple of `factor`. If it is not known to be one, each run checks that it is. A number
/// stays as it is: the op refuses it.
Status match_multiple(OnnxNodeContext& node, Tensor& tensor, std::size_t axis, std::int64_t factor);

}  // namespace millrace
