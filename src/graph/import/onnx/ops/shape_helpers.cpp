// SPDX-License-Identifier: Apache-2.0
// Reads axes and shapes, which older versions of ops have as attributes and newer ones as operands.
#include "graph/import/onnx/ops/shape_helpers.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace {

Result<std::optional<std::vector<std::int64_t>>> read_axes(OnnxNodeContext& node, std::int64_t operand_version,
                                                           std::size_t rank) {
  std::optional<std::vector<std::int64_t>> axes;
  const bool is_operand = node.version() >= operand_version;
  if (is_operand && node.has(1)) {
    MILLRACE_TRY_ASSIGN(axes, node.integers(1));
  } else if (!is_operand) {
    MILLRACE_TRY_ASSIGN(axes, node.integers_attribute("axes"));
  }
  if (!axes) return axes;
  const auto refuse = [&](const std::string& reason) {
    return is_operand ? node.operand_error(1, reason) : node.attribute_error("axes", reason);
  };
  std::vector<std::int64_t> found;
  for (const std::int64_t axis : *axes) {
    const std::optional<std::int64_t> counted = find_axis(axis, rank);
    if (!counted) return refuse(fmt::format("found {}, expected axes of a tensor of rank {}", axis, rank));
    if (std::ranges::find(found, *counted) != found.end()) return refuse(fmt::format("names axis {} twice", *counted));
    found.push_back(*counted);
  }
  return std::optional(std::move(found));
}

bool can_count_elements(std::span<const SizeExpr> dims) {
  constexpr std::size_t kMaxTerms = 500;  // shapes in a graph have the same limit
  std::size_t num_terms = 1;
  for (const SizeExpr& dim : dims) {
    num_terms *= std::min(dim.num_terms(), kMaxTerms + 1);
    if (num_terms > kMaxTerms) return false;
  }
  return true;
}

Result<Shape> shape_of_sizes(OnnxNodeContext& node, std::size_t operand) {
  MILLRACE_TRY_ASSIGN(OnnxSizes sizes, node.sizes(operand));
  if (sizes.rank() > 1 || sizes.divisor != 1) return node.operand_error(operand, "is not a list of integers");
  if (sizes.values.size() > kMaxRank) {
    return node.operand_error(operand,
                              fmt::format("asks for rank {}, expected at most {}", sizes.values.size(), kMaxRank));
  }
  if (!can_count_elements(sizes.values)) {
    return node.operand_error(operand, "asks for dims whose product has more than 500 terms; give the dims values");
  }
  return Shape(std::move(sizes.values));
}

Status match_multiple(OnnxNodeContext& node, Tensor& tensor, std::size_t axis, std::int64_t factor) {
  const SizeExpr size = tensor.shape()[axis];
  if (size.is_constant() || size.known_multiple() % factor == 0) return {};
  return node.match_dim(tensor, axis, factor * floor_div(size, factor));
}

}  // namespace millrace
