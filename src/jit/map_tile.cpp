// SPDX-License-Identifier: Apache-2.0
#include "jit/map_tile.h"

#include "millrace/jit/float16_bodies.h"

namespace millrace {

MachineValue lane_mask(MachineBuilder& b, std::uint32_t lanes, MachineValue num_points) {
  const MachineValue lane = b.lane_iota(DType::kI32, lanes);
  return b.lt(lane, b.splat(b.convert(DType::kI32, num_points), lanes));
}

void emit_stores(const MapContext& context, const Position& position, TileShape shape,
                 std::span<const MachineValue> reduced) {
  if (context.reduces_lanes()) shape.vectors = 1;
  BodyEmitter body(context, /*is_epilogue=*/true, position, shape, reduced);
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    for (std::uint32_t vector = 0; vector < shape.vectors; ++vector) {
      for (std::size_t i = 0; i < context.kernel.stores.size(); ++i) {
        const AccessPlan& plan = context.stores[i];
        const MachineValue value = body.value(context.kernel.epilogue.yields[i], row, vector);
        store_cell(context, {plan, position.stores[i], row, vector, {}}, shape.mask,
                   narrow_to_stored(context.b, value, plan.stored));
      }
    }
  }
}

void emit_tile(const MapContext& context, const Position& position, const TileShape& shape) {
  std::vector<MachineValue> reduced;
  if (!context.kernel.reductions.empty()) {
    ReductionEmitter reductions(context, shape);
    reduced = reductions.results(reductions.reduce(position));
  }
  emit_stores(context, position, shape, reduced);
}

}  // namespace millrace
