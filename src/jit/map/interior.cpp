// SPDX-License-Identifier: Apache-2.0
// Tells the tiles of a nest that read only inside their operands from those at the edges, which need bounds checks.
#include "jit/map/interior.h"

#include "jit/map/nest.h"
#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// With fewer tiles along a dim whose index is checked, most tiles are at an edge.
constexpr std::int64_t kMinTiles = 3;
/// A row has at least this many tiles, if a tile can be that short.
constexpr std::int64_t kManyTiles = 8;

/// Calls `visit` for every affine index that is checked.
template <typename Visit>
void for_each_guard(const LoopKernel& kernel, Visit visit) {
  for (const Access& load : kernel.loads) {
    for (std::size_t axis = 0; load.fill && axis < load.indices.size(); ++axis) {
      const SizeExpr& extent = kernel.operands[load.tensor].type.shape[axis];
      if (load.dynamic_dim == axis || is_inside(load.indices[axis], extent, kernel.domain)) continue;
      visit(load.indices[axis]);
    }
  }
}

/// Whether the distance between the indices of a tile's points is known.
bool has_known_reach(const LoopKernel& kernel, const AffineIndex& index) {
  for (std::size_t d = 0; d < kernel.domain.size(); ++d) {
    if (index.coefficients[d].is(0)) continue;
    const bool is_known = d < kernel.num_parallel() || kernel.domain[d].extent.is_constant();
    if (!is_known || !index.coefficients[d].is_constant()) return false;
  }
  return true;
}

/// Whether enough tiles can be inside as far as `index` goes.
bool has_inside(const LoopKernel& kernel, const AffineIndex& index, const Tiling& tiling) {
  for (std::size_t d = 0; d < kernel.num_parallel(); ++d) {
    const bool has_few = guess_extent(kernel.domain[d].extent) < kMinTiles * tile_of(tiling, d);
    if (has_few && !index.coefficients[d].is(0)) return false;
  }
  return has_known_reach(kernel, index);
}

/// The lowest and the highest index of a tile's points, from that of its first point.
struct Reach {
  std::int64_t below = 0, above = 0;
};

/// Precondition: has_known_reach(context.kernel, index).
Reach reach_of(const MapContext& context, const AffineIndex& index, const TileShape& shape) {
  Reach reach;
  const LoopKernel& kernel = context.kernel;
  for (std::size_t d = 0; d < kernel.domain.size(); ++d) {
    if (index.coefficients[d].is(0)) continue;
    const bool is_reduction = d >= kernel.num_parallel();
    std::int64_t points = is_reduction ? kernel.domain[d].extent.constant() : 1;
    if (d == context.tiling.vector_dim && !is_reduction) points = std::int64_t{shape.vectors} * context.tiling.lanes;
    if (context.has_row_dim() && d == context.tiling.row_dim) points = shape.rows;
    const std::int64_t distance = saturating::multiply(index.coefficients[d].constant(), points - 1);
    std::int64_t& side = distance < 0 ? reach.below : reach.above;
    side = saturating::add(side, distance);
  }
  return reach;
}

}  // namespace

Tiling with_interior(const LoopKernel& collapsed, Tiling tiling) {
  const bool has_lanes = tiling.vector_dim < collapsed.domain.size() && tiling.lanes > 1;
  if (!has_lanes) return tiling;
  bool has_guard = false, has_lane_guard = false;
  for_each_guard(collapsed, [&](const AffineIndex& index) {
    has_guard = true;
    has_lane_guard |= !index.coefficients[tiling.vector_dim].is(0);
  });
  if (!has_guard) return tiling;
  Tiling split = tiling;
  const std::int64_t row = guess_extent(collapsed.domain[tiling.vector_dim].extent);
  const bool is_parallel = tiling.vector_dim < collapsed.num_parallel();
  while (has_lane_guard && is_parallel && split.vector_unroll > 1 &&
         row < kManyTiles * tile_of(split, split.vector_dim)) {
    split.vector_unroll = (split.vector_unroll + 1) / 2;
  }
  bool has_interior = true;
  for_each_guard(collapsed, [&](const AffineIndex& index) { has_interior &= has_inside(collapsed, index, split); });
  split.splits_interior = has_interior;
  return has_interior ? split : tiling;
}

MachineValue is_interior(const MapContext& context, const Position& position, const TileShape& shape) {
  MachineBuilder& b = context.b;
  MachineValue all = b.constant_int(DType::kBool, 1);
  const auto require = [&](MachineValue condition) { all = b.bit_and(all, condition); };
  for (std::size_t i = 0; i < context.loads.size(); ++i) {
    for (std::size_t g = 0; g < context.loads[i].guards.size(); ++g) {
      const GuardPlan& guard = context.loads[i].guards[g];
      if (guard.has_dynamic_index) continue;
      if (!has_known_reach(context.kernel, guard.index)) return b.constant_int(DType::kBool, 0);
      const Reach reach = reach_of(context, guard.index, shape);
      const LinearValue& first = position.loads[i].guards[g];
      require(b.le(b.i64(0), first.plus(b, LinearValue(reach.below)).value(b)));
      const MachineValue extent = LinearValue::of_size(b, guard.extent).value(b);
      require(b.lt(first.plus(b, LinearValue(reach.above)).value(b), extent));
    }
  }
  return all;
}

}  // namespace millrace
