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

/// A tile in registers: `rows` x `vectors` cells of one vector each. `mask` is true in the lanes that have a point. A
/// tile with a mask has one vector.
struct TileShape {
  std::uint32_t rows = 1;
  std::uint32_t vectors = 1;
  std::optional<MachineValue> mask;
  /// Set only in a map's tile with a mask: the number of remaining points, which can exceed the number of lanes.
  std::optional<MachineValue> points = {};
};

/// What the bodies of a tile read of earlier passes.
struct RowValues {
  std::vector<MachineValue> reduced;  // [reduction][row][vector]; one vector if lanes run along a reduction
  /// The temporaries of the current point, if they are in registers (MapContext::temporaries is empty).
  std::vector<MachineValue> temporaries = {};
};

/// Emits a body for the cells of one tile. Cells share values: a value that does not change along the rows is emitted
/// once for all rows, and one that does not change along the lanes is a scalar.
class BodyEmitter {
 public:
  /// Emits the term of a pass, or the epilogue if `pass` is empty.
  BodyEmitter(const MapContext& context, std::optional<std::uint32_t> pass, const Position& position,
              const TileShape& shape, const RowValues& row);

  /// The value for one cell: a scalar or a vector.
  MachineValue value(BodyValueId id, std::uint32_t row, std::uint32_t vector);
  /// The result of value(), splat to every lane.
  MachineValue vector_value(BodyValueId id, std::uint32_t row, std::uint32_t vector);
  /// The result of value() in the form in which a tensor of `stored` holds it. An element that is only moved, or was
  /// just rounded to `stored`, keeps its bits: widening and narrowing 16-bit floats would dominate the cost of a copy.
  MachineValue stored_value(BodyValueId id, DType stored, std::uint32_t row, std::uint32_t vector);

 private:
  MachineValue emit(BodyValueId id, std::uint32_t row, std::uint32_t vector);
  /// The result of `load_cell`, not widened.
  MachineValue loaded(BodyValueId id, std::uint32_t row, std::uint32_t vector);
  MachineValue emit_temporary(std::uint64_t number, std::uint32_t row, std::uint32_t vector);
  MachineValue emit_lanewise(const BodyInstruction& instruction, std::uint32_t row, std::uint32_t vector);
  MachineValue emit_rare_select(BodyValueId id, std::uint32_t row, std::uint32_t vector);
  std::vector<BodyValueId> rare_selects_from(BodyValueId id) const;
  MachineValue emit_index(std::uint64_t dim, std::uint32_t row, std::uint32_t vector);
  MachineValue emit_check_index(const BodyInstruction& instruction, std::uint32_t row, std::uint32_t vector);
  bool is_transposed(const BodyInstruction& load) const;
  const std::vector<MachineValue>& transposed_rows(std::uint64_t load, std::uint32_t vector);
  MachineValue emit_load(const BodyInstruction& instruction, std::uint32_t row, std::uint32_t vector);
  std::size_t slot_of(BodyValueId id, std::uint32_t row, std::uint32_t vector) const;

  const MapContext& context_;
  MachineBuilder& b_;
  const Body& body_;
  const std::vector<Variance>& variance_;
  const Position& position_;
  const TileShape& shape_;
  const RowValues& row_;
  std::vector<std::optional<MachineValue>> values_;
  std::vector<std::optional<MachineValue>> loaded_;
  std::vector<std::optional<MachineValue>> splats_;
  /// The key is the load and the vector of the tile.
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<MachineValue>> transposed_;
};

/// Alternates the lanes of a power of two of vectors: lane l of vector v becomes element l * vectors + v of the result.
std::vector<MachineValue> weave(MachineBuilder& b, std::vector<MachineValue> vectors);

/// One load or store of a tile's cell, at `row` and `vector`.
struct CellAccess {
  const AccessPlan& plan;
  const AccessPosition& position;
  std::uint32_t row = 0;
  std::uint32_t vector = 0;
  std::optional<MachineValue> dynamic_index;
};

/// The element as stored: u16 for 16-bit floats. The result is a scalar if neither the address nor a guard changes
/// along the lanes.
MachineValue load_cell(const MapContext& context, const CellAccess& access, const std::optional<MachineValue>& mask);
/// Stores the cells of a tile. Streaming stores are emitted together at the end, by finish(), so that they share one
/// branch.
class CellStores {
 public:
  explicit CellStores(const MapContext& context) : context_(context) {}
  /// `value` has the form in which memory stores it. It is a vector, or a scalar if the tile's lanes run along a
  /// reduction.
  void store(const CellAccess& access, const std::optional<MachineValue>& mask, MachineValue value);
  /// Stores whole rows of a store that weaves them; `values` has one vector per row, in the form of store().
  void store_woven(const CellAccess& access, std::vector<MachineValue> values);
  void finish();

 private:
  struct Streaming {
    MemoryHandle memory;
    MachineValue offset, value;
  };

  const MapContext& context_;
  std::vector<Streaming> streaming_;
};

}  // namespace millrace
