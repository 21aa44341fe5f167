// SPDX-License-Identifier: Apache-2.0
// Emits one tile of a loop nest: its reductions, then its epilogue and stores.
#include "jit/map/tile.h"

#include "jit/map/interior.h"
#include "jit/map/sums_in_memory.h"

namespace millrace {

MachineValue lane_mask(MachineBuilder& b, std::uint32_t lanes, MachineValue num_points) {
  const MachineValue lane = b.lane_iota(DType::kI32, lanes);
  return b.lt(lane, b.splat(b.convert(DType::kI32, num_points), lanes));
}

namespace {

/// Stores the first `num_points` columns of a transposed block, element by element.
void store_points(const MapContext& context, const AccessPlan& plan, const LinearValue& start,
                  const MemoryHandle& block, std::uint32_t num_rows, MachineValue num_points) {
  MachineBuilder& b = context.b;
  using Values = MachineBuilder::Values;
  const MachineValue zero = b.i64(0), one = b.i64(1);
  b.for_loop(zero, b.i64(num_rows), one, {}, [&](MachineValue row, const Values&) -> Values {
    const LinearValue to = start.plus(b, LinearValue(row), context.row_coefficient(plan.offset));
    const LinearValue from = LinearValue(0).plus(b, LinearValue(row), std::int64_t{context.tiling.lanes});
    b.for_loop(zero, num_points, one, {}, [&](MachineValue point, const Values&) -> Values {
      const MachineValue element = b.load(block, from.plus(b, LinearValue(point)).value(b), 1);
      b.store(plan.memory, to.plus(b, LinearValue(point), context.vector_coefficient(plan.offset)).value(b), element);
      return {};
    });
    return {};
  });
}

/// Stores a transposed block that has only `shape.points` columns.
void emit_tail_stores(const MapContext& context, const Position& position, const TileShape& shape, BodyEmitter& body) {
  MachineBuilder& b = context.b;
  const std::uint32_t lanes = context.tiling.lanes;
  for (std::size_t i = 0; i < context.stores.size(); ++i) {
    const AccessPlan& plan = context.stores[i];
    for (std::uint32_t row = 0; row < shape.rows; ++row) {
      const MachineValue value = body.stored_value(context.kernel.epilogue.yields[i], plan.stored, row, 0);
      b.store(context.tail_blocks[i], b.i64(std::int64_t{row} * lanes),
              value.lanes == 1 ? b.splat(value, lanes) : value);
    }
    store_points(context, plan, position.stores[i].offset, context.tail_blocks[i], shape.rows,
                 b.min(*shape.points, b.i64(lanes)));
  }
}

}  // namespace

void emit_stores(const MapContext& context, const Position& position, TileShape shape, const RowValues& row_values) {
  if (context.reduces_lanes()) shape.vectors = 1;
  BodyEmitter body(context, /*pass=*/{}, position, shape, row_values);
  const bool is_block = shape.rows > 1 && shape.rows == context.tiling.lanes;
  if (context.tiling.loops_tail_stores && shape.points && is_block) {
    return emit_tail_stores(context, position, shape, body);
  }
  const std::vector<std::size_t> stores = context.kernel.stores_of({});
  CellStores cells(context);
  const auto is_woven = [&](const AccessPlan& plan) {
    return context.weaves_rows(plan) && shape.rows == context.tiling.row_unroll && !shape.mask;
  };
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    for (std::uint32_t vector = 0; vector < shape.vectors; ++vector) {
      for (std::size_t i = 0; i < stores.size(); ++i) {
        const AccessPlan& plan = context.stores[stores[i]];
        const CellAccess access{plan, position.stores[stores[i]], row, vector, {}};
        const auto value = [&](std::uint32_t of_row) {
          return body.stored_value(context.kernel.epilogue.yields[i], plan.stored, of_row, vector);
        };
        if (!is_woven(plan)) {
          cells.store(access, shape.mask, value(row));
        } else if (row == 0) {
          std::vector<MachineValue> rows;
          for (std::uint32_t each = 0; each < shape.rows; ++each) rows.push_back(value(each));
          cells.store_woven(access, std::move(rows));
        }
      }
    }
  }
  cells.finish();
}

namespace {

/// Stores the tile's reduced values in private memory, then runs one epilogue in a loop over the cells.
class CellLoop {
 public:
  CellLoop(const MapContext& context, const TileShape& shape)
      : context_(context), b_(context.b), shape_(shape), vectors_(context.reduces_lanes() ? 1 : shape.vectors) {}

  void run(const Position& position, const RowValues& row_values) {
    const std::vector<MachineValue>& reduced = row_values.reduced;
    const std::uint32_t num_cells = shape_.rows * vectors_;
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      const auto cell = static_cast<std::int64_t>(i % num_cells) * context_.cell_lanes();
      b_.store(context_.cells[i / num_cells], b_.i64(cell), reduced[i]);
    }
    const MachineValue zero = b_.i64(0), one = b_.i64(1);
    using Values = MachineBuilder::Values;
    if (shape_.rows == 1) return emit_row(position, LinearValue(0));
    b_.for_loop(zero, b_.i64(shape_.rows), one, {}, [&](MachineValue row, const Values&) -> Values {
      emit_row(context_.move(position, context_.tiling.row_dim, LinearValue(row)), LinearValue(row));
      return {};
    });
  }

 private:
  void emit_row(const Position& position, const LinearValue& row) {
    const LinearValue first = LinearValue(0).plus(b_, row, std::int64_t{vectors_} * context_.cell_lanes());
    if (vectors_ == 1) return emit_cell(position, first);
    const std::int64_t lanes = context_.tiling.lanes;
    using Values = MachineBuilder::Values;
    b_.for_loop(b_.i64(0), b_.i64(vectors_ * lanes), b_.i64(lanes), {},
                [&](MachineValue point, const Values&) -> Values {
                  emit_cell(context_.move(position, context_.tiling.vector_dim, LinearValue(point)),
                            first.plus(b_, LinearValue(point)));
                  return {};
                });
  }

  void emit_cell(const Position& position, const LinearValue& offset) {
    RowValues cell;
    for (const MemoryHandle& cells : context_.cells) {
      cell.reduced.push_back(b_.load(cells, offset.value(b_), context_.cell_lanes()));
    }
    emit_stores(context_, position, {.rows = 1, .vectors = 1, .mask = shape_.mask}, cell);
  }

  const MapContext& context_;
  MachineBuilder& b_;
  const TileShape& shape_;
  std::uint32_t vectors_;
};

void emit_checked_tile(const MapContext& context, const Position& position, const TileShape& shape) {
  RowValues row;
  if (context.tiling.sums_in_memory && shape.vectors > 1) {
    emit_sums_in_memory(context, position, shape);
    return CellLoop(context, shape).run(position, row);
  }
  for (std::uint32_t pass = 0; pass < context.kernel.terms.size(); ++pass) {
    ReductionEmitter reductions(context, shape, pass, row);
    reductions.finish(reductions.reduce(position));
  }
  const bool has_cells = shape.rows * shape.vectors > 1;
  if (context.tiling.loops_epilogue && has_cells) return CellLoop(context, shape).run(position, row);
  emit_stores(context, position, shape, row);
}

}  // namespace

void emit_tile(const MapContext& context, const Position& position, const TileShape& shape) {
  if (!context.tiling.splits_interior) return emit_checked_tile(context, position, shape);
  const auto interior = [&]() -> MachineBuilder::Values {
    Position inside = position;
    context.remove_guards(inside);
    emit_checked_tile(context.without_guards(), inside, shape);
    return {};
  };
  const auto edge = [&]() -> MachineBuilder::Values {
    emit_checked_tile(context, position, shape);
    return {};
  };
  context.b.if_else(is_interior(context, position, shape), interior, edge);
}

}  // namespace millrace
