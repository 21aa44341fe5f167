// SPDX-License-Identifier: Apache-2.0
// The checks that type rules share, with their messages.
#include "ops/infer.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace::ops {

Status expect_dtype(Types operands, std::size_t operand, const DTypeSet& set) {
  if (set.contains(operands[operand].dtype)) return {};
  return invalid_argument(
      fmt::format("operand {} is {}, expected {}; insert a cast", operand, operands[operand].to_text(), set.text));
}

Status expect_like(Types operands, std::size_t operand, std::size_t like) {
  const TensorType& found = operands[operand];
  const TensorType& expected = operands[like];
  if (found == expected) return {};
  const bool dtype_differs = found.dtype != expected.dtype;
  const bool shape_differs = found.shape != expected.shape;
  const std::string_view remedy = !shape_differs  ? "insert a cast"
                                  : dtype_differs ? "insert a cast and a broadcast"
                                                  : "insert a broadcast";
  return invalid_argument(fmt::format("operand {} is {}, expected {} like operand {}; {}", operand, found.to_text(),
                                      expected.to_text(), like, remedy));
}

Status expect_rank(Types operands, std::size_t operand, std::size_t rank, std::string_view dims) {
  if (operands[operand].shape.rank() == rank) return {};
  return invalid_argument(fmt::format("operand {} is {}, expected rank {} ({}); reshape it", operand,
                                      operands[operand].to_text(), rank, dims));
}

Status expect_alike(Types operands, const DTypeSet& set) {
  MILLRACE_TRY(expect_dtype(operands, 0, set));
  for (std::size_t i = 1; i < operands.size(); ++i) MILLRACE_TRY(expect_like(operands, i, 0));
  return {};
}

Result<std::size_t> resolve_axis(std::int64_t axis, Types operands, std::size_t operand, std::string_view attribute) {
  const TensorType& type = operands[operand];
  const auto rank = static_cast<std::int64_t>(type.shape.rank());
  if (axis >= -rank && axis < rank) return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  if (rank == 0) {
    return invalid_argument(fmt::format("{} is {}, but operand {} is {}, which has no axes; reshape it", attribute,
                                        axis, operand, type.to_text()));
  }
  return invalid_argument(fmt::format("{} is {}, expected {} to {} for operand {}, {}; choose one of its axes",
                                      attribute, axis, -rank, rank - 1, operand, type.to_text()));
}

Result<std::vector<std::size_t>> resolve_axes(std::span<const std::int64_t> axes, Types operands, std::size_t operand,
                                              std::string_view attribute) {
  std::vector<std::size_t> resolved;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    MILLRACE_TRY_ASSIGN(const std::size_t axis,
                        resolve_axis(axes[i], operands, operand, fmt::format("{}[{}]", attribute, i)));
    if (std::ranges::find(resolved, axis) != resolved.end()) {
      return invalid_argument(
          fmt::format("{}[{}] is {}, which is already named; name each axis once", attribute, i, axes[i]));
    }
    resolved.push_back(axis);
  }
  return resolved;
}

Status expect_entries(std::string_view attribute, std::size_t found, std::size_t expected, std::string_view of_what) {
  if (found == expected) return {};
  return invalid_argument(fmt::format("{} has {} {}, expected {} ({}); give one for each", attribute, found,
                                      found == 1 ? "entry" : "entries", expected, of_what));
}

Status expect_at_least(std::string_view attribute, std::span<const std::int64_t> entries, std::int64_t minimum) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i] >= minimum) continue;
    return invalid_argument(
        fmt::format("{}[{}] is {}, expected {} or more; correct it", attribute, i, entries[i], minimum));
  }
  return {};
}

bool require_at_most(const SizeExpr& small, const SizeExpr& large, std::vector<SizeRequirement>& requirements) {
  const SizeExpr room = large - small;
  if (room.upper_bound() < 0) return false;
  if (room.lower_bound() < 0) requirements.push_back({small, large});
  return true;
}

void require_extents(const Shape& shape, std::vector<SizeRequirement>& requirements) {
  for (const SizeExpr& extent : shape.dims()) require_at_most(0, extent, requirements);
}

}  // namespace millrace::ops
