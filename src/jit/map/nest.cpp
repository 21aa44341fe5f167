// SPDX-License-Identifier: Apache-2.0
// Divides the parallel dims of a nest into groups and loops, for CPUs.
#include "jit/map/nest.h"

#include <algorithm>

#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// The maximum length of a body with kVectorsOfBody copies.
constexpr std::size_t kMaxCopiedInstructions = 40;
constexpr std::uint32_t kVectorsOfShortBody = 4, kVectorsOfBody = 2;
constexpr std::int64_t kManyPoints = std::int64_t{1} << 31;

/// The order of the loops, outermost first. A map has its vectors innermost, so that it accesses memory in order. A
/// contraction with many vectors has its rows innermost: the operand that changes along the vectors stays in cache
/// while all rows use it. With few vectors, that operand stays in cache in either order, so rows are outside: a loop
/// over rows can be split into groups.
std::vector<std::size_t> loop_order(const LoopKernel& kernel, const Tiling& tiling) {
  std::vector<std::size_t> order;
  const std::size_t num_parallel = kernel.num_parallel();
  for (std::size_t d = 0; d < num_parallel; ++d) {
    if (d != tiling.vector_dim && d != tiling.row_dim) order.push_back(d);
  }
  const bool has_vector = tiling.vector_dim < num_parallel;
  const bool has_row = tiling.row_dim < num_parallel && tiling.row_dim != tiling.vector_dim;
  const bool has_few_vectors =
      has_vector && guess_extent(kernel.domain[tiling.vector_dim].extent) <= 4 * tile_of(tiling, tiling.vector_dim);
  if (has_row && has_few_vectors) order.push_back(tiling.row_dim);
  if (has_vector) order.push_back(tiling.vector_dim);
  if (has_row && !has_few_vectors) order.push_back(tiling.row_dim);
  return order;
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::int64_t tile_of(const Tiling& tiling, std::size_t dim) {
  if (dim == tiling.vector_dim) return std::int64_t{tiling.lanes} * tiling.vector_unroll;
  return dim == tiling.row_dim ? tiling.row_unroll : 1;
}

std::uint32_t vectors_of_body(const Body& body) {
  std::size_t size = 0;
  std::vector<bool> is_fixed;
  for (const BodyInstruction& instruction : body.instructions) {
    bool fixed = instruction.op == KernelOp::kReduced || instruction.op == KernelOp::kExtent;
    bool is_constant = instruction.op == KernelOp::kConstant;
    if (instruction.num_operands > 0 && instruction.op != KernelOp::kLoad) {
      const auto operands = std::span(instruction.operands).first(instruction.num_operands);
      fixed = std::ranges::all_of(operands, [&](BodyValueId operand) { return is_fixed[index_of(operand)]; });
    }
    is_fixed.push_back(fixed || is_constant);
    size += fixed ? 0 : 1;
  }
  if (size > kMaxCopiedInstructions) return 1;
  return size > kMaxOverlappingInstructions ? kVectorsOfBody : kVectorsOfShortBody;
}

bool has_short_reduction(const LoopKernel& collapsed) {
  constexpr std::int64_t kMaxTerms = 9;
  if (classify(collapsed) != LoopKind::kReduce) return false;
  std::int64_t terms = 1;
  for (std::size_t d = collapsed.num_parallel(); d < collapsed.domain.size(); ++d) {
    if (!collapsed.domain[d].extent.is_constant()) return false;
    terms = saturating::multiply(terms, collapsed.domain[d].extent.constant());
  }
  return terms <= kMaxTerms && collapsed.terms[0].instructions.size() <= kMaxOverlappingInstructions;
}

std::int64_t guess_extent(const SizeExpr& extent) {
  constexpr std::int64_t kUsual = 1024;
  if (extent.is_constant()) return std::max<std::int64_t>(extent.constant(), 1);
  return std::clamp(kUsual, std::max<std::int64_t>(extent.lower_bound(), 1),
                    std::max<std::int64_t>(extent.upper_bound(), 1));
}

NestSplit split_nest(const LoopKernel& collapsed, const Tiling& tiling) {
  NestSplit split;
  split.order = loop_order(collapsed, tiling);
  if (split.order.empty()) return split;
  const auto extent_at = [&](std::size_t i) { return guess_extent(collapsed.domain[split.order[i]].extent); };
  // A group has a single index of each dim outside the split dim, so a tiled dim must be the split dim or inside it.
  const auto first_tiled = std::find_if(split.order.begin(), split.order.end(), [&](std::size_t dim) {
    return dim == tiling.vector_dim || dim == tiling.row_dim;
  });
  const auto innermost =
      std::min<std::size_t>(static_cast<std::size_t>(first_tiled - split.order.begin()), split.order.size() - 1);
  std::int64_t inner_points = 1;
  for (std::size_t i = innermost + 1; i < split.order.size(); ++i) {
    inner_points = std::min(inner_points * std::min(extent_at(i), kManyPoints), kManyPoints);
  }
  split.split = innermost;
  while (split.split > 0 && extent_at(split.split) <= tiling.points_per_group / inner_points) {
    inner_points *= extent_at(split.split);
    --split.split;
  }
  const std::size_t dim = split.order[split.split];
  const SizeExpr& extent = collapsed.domain[dim].extent;
  const std::int64_t wanted = std::max<std::int64_t>(tiling.points_per_group / inner_points, 1);
  split.chunk = collapsed.domain[dim].is_workgroup_dim ? 1 : round_up(wanted, tile_of(tiling, dim));
  split.num_chunks = extent.upper_bound() <= split.chunk ? SizeExpr(1) : ceil_div(extent, split.chunk);
  split.num_groups = split.num_chunks;
  for (std::size_t i = 0; i < split.split; ++i)
    split.num_groups = split.num_groups * collapsed.domain[split.order[i]].extent;
  return split;
}

}  // namespace millrace
