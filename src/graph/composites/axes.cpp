// SPDX-License-Identifier: Apache-2.0
// Checks the axes that callers pass to composites, and counts negative ones from the end.
#include "graph/composites/axes.h"

namespace millrace {

std::optional<std::vector<bool>> find_axes(const Composite& composite, Tensor x, std::span<const std::int64_t> axes,
                                           std::size_t rank) {
  std::vector<bool> is_named(rank);
  const auto signed_rank = static_cast<std::int64_t>(rank);
  for (const std::int64_t axis : axes) {
    if (rank == 0) {
      composite.refuse(
          fmt::format("axis is {}, but operand 0 is {}, which has no axes; reshape it", axis, x.type().to_text()));
      return std::nullopt;
    }
    if (axis < -signed_rank || axis >= signed_rank) {
      composite.refuse(fmt::format("axis is {}, expected {} to {} for operand 0, {}; choose one of these", axis,
                                   -signed_rank, signed_rank - 1, x.type().to_text()));
      return std::nullopt;
    }
    const auto dim = static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
    if (is_named[dim]) {
      composite.refuse(fmt::format("axis {} is named twice; name each axis once", axis));
      return std::nullopt;
    }
    is_named[dim] = true;
  }
  return is_named;
}

std::optional<std::size_t> find_axis(const Composite& composite, Tensor x, std::int64_t axis) {
  const std::optional<std::vector<bool>> is_named = find_axes(composite, x, std::span(&axis, 1), x.shape().rank());
  if (!is_named) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.shape().rank()) : axis);
}

}  // namespace millrace
