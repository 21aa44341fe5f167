// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/import/onnx/node_context.h"

namespace millrace {

/// The axes of an op: an attribute before `operand_version`, operand 1 from then on. They count from the first axis of
/// a tensor of that rank, and each occurs at most once. Empty if the node has none.
Result<std::optional<std::vector<std::int64_t>>> read_axes(OnnxNodeContext& node, std::int64_t operand_version,
                                                           std::size_t rank);
/// Whether the number of elements of a tensor with these dims can be written as a sum of at most 500 terms. The limit
/// bounds the time and memory of multiplying out, which grow with the product of the dims' numbers of terms.
bool can_count_elements(std::span<const SizeExpr> dims);
/// A list of sizes as a shape. Fails above rank 8, and if can_count_elements() does not hold.
Result<Shape> shape_of_sizes(OnnxNodeContext& node, std::size_t operand);
/// Makes a dim of the tensor a multiple of `factor`. If it is not known to be one, each run checks that it is. A
/// constant dim stays as it is: the op refuses a wrong one.
Status match_multiple(OnnxNodeContext& node, Tensor& tensor, std::size_t axis, std::int64_t factor);

}  // namespace millrace
