// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "jit/ir/reduction.h"
#include "jit/map/context.h"

namespace millrace {

using TileReduction = ReductionValue<MachineValue>;

/// A tile in registers: `rows` x `vectors` cells of one vector each. `mask` marks the lanes that are points (a tile
/// with a mask has one vector).
struct TileShape {
  std::uint32_t rows = 1;
  std::uint32_t vectors = 1;
  std::optional<MachineValue> mask;
  std::optional<MachineValue> points = {};  // of a map's tile with a mask: how many lanes it marks
};

/// Emits a body for the cells of one tile, each value once for all cells that share it: a value that does not change
/// along the rows serves all rows, one that does not change along the lanes is a scalar.
class BodyEmitter {
 public:
  /// `reduced[reduction * rows * vectors + row * vectors + vector]` feeds an epilogue.
  BodyEmitter(const MapContext& context, bool is_epilogue, const Position& position, const TileShape& shape,
              std::span<const MachineValue> reduced);

  /// A scalar or a vector.
  MachineValue value(BodyValueId id, std::uint32_t row, std::uint32_t vector);
  /// `value`, in every lane.
  MachineValue vector_value(BodyValueId id, std::uint32_t row, std::uint32_t vector);
  /// `value` as a tensor of `stored` keeps it. An element that is moved and nothing else keeps its bits: widening a
  /// 16-bit float and narrowing it again would be most of a copy.
  MachineValue stored_value(BodyValueId id, DType stored, std::uint32_t row, std::uint32_t vector);

 private:
  MachineValue emit(BodyValueId id, std::uint32_t row, std::uint32_t vector);
  /// What `load_cell` gives.
  MachineValue loaded(BodyValueId id, std::uint32_t row, std::uint32_t vector);
  MachineValue emit_lanewise(const BodyInstruction& instruction, std::uint32_t row, std::uint32_t vector);
  MachineValue emit_index(std::uint64_t dim, std::uint32_t row, std::uint32_t vector);
  MachineValue emit_check_index(const BodyInstruction& instruction, std::uint32_t row, std::uint32_t vector);
  bool is_turned(const BodyInstruction& load) const;
  const std::vector<MachineValue>& turned_rows(std::uint64_t load, std::uint32_t vector);
  MachineValue emit_load(const BodyInstruction& instruction, std::uint32_t row, std::uint32_t vector);
  std::size_t slot_of(BodyValueId id, std::uint32_t row, std::uint32_t vector) const;

  const MapContext& context_;
  MachineBuilder& b_;
  const Body& body_;
  const std::vector<Variance>& variance_;
  const Position& position_;
  const TileShape& shape_;
  std::span<const MachineValue> reduced_;
  std::vector<std::optional<MachineValue>> values_;
  std::vector<std::optional<MachineValue>> loaded_;
  std::vector<std::optional<MachineValue>> splats_;
  /// By load and vector of the tile.
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<MachineValue>> turned_;
};

/// One load or store of a tile's cell, at `row` and `vector` of it.
struct CellAccess {
  const AccessPlan& plan;
  const AccessPosition& position;
  std::uint32_t row = 0;
  std::uint32_t vector = 0;
  std::optional<MachineValue> dynamic_index;
};

/// The element as stored: u16 for 16-bit floats. A scalar when neither the address nor a guard changes along the lanes.
MachineValue load_cell(const MapContext& context, const CellAccess& access, const std::optional<MachineValue>& mask);
/// `value` as stored: a vector, or a scalar when the tile's lanes are a reduction's.
void store_cell(const MapContext& context, const CellAccess& access, const std::optional<MachineValue>& mask,
                MachineValue value);

}  // namespace millrace
