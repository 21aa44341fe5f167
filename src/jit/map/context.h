// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/ir/affine.h"
#include "jit/ir/linear_value.h"
#include "millrace/jit/map_kernel.h"

namespace millrace {

/// What keeps an access inside its tensor: 0 <= index < extent, else no memory is touched.
struct GuardPlan {
  AffineIndex index;
  SizeExpr extent;
  bool has_dynamic_index = false;
  bool fits_i32 = false;  // index and extent, for every point and lane
};

/// An access as addresses.
struct AccessPlan {
  MemoryHandle memory;
  DType stored = DType::kF32;
  AffineIndex offset;  // elements from the buffer's start
  SizeExpr dynamic_stride;
  std::vector<GuardPlan> guards;
  Scalar other;  // what a lane without memory gets, as loaded (u16 for 16-bit floats)
};

/// Where an access stands while loops are entered one by one: each adds its share.
struct AccessPosition {
  LinearValue offset;
  std::vector<LinearValue> guards;
};
struct Position {
  std::vector<LinearValue> indices;  // per domain dim
  std::vector<AccessPosition> loads;
  std::vector<AccessPosition> stores;
};

/// What a body value changes with inside a tile; else one register serves all rows or all lanes.
struct Variance {
  bool with_row = false;
  bool with_vector = false;
};

/// What every part of one mapping shares.
struct MapContext {
  MapContext(MachineBuilder& builder, const LoopKernel& collapsed, const Tiling& chosen);

  MachineBuilder& b;
  const LoopKernel& kernel;
  Tiling tiling;
  std::vector<AccessPlan> loads;
  std::vector<AccessPlan> stores;
  std::vector<MemoryHandle> cells;        // per reduction, the cells of a tile whose epilogue is a loop
  std::vector<MemoryHandle> tail_blocks;  // per store, a turned block of it
  std::vector<Variance> term_variance;
  std::vector<Variance> epilogue_variance;

  bool has_vector_dim() const { return tiling.vector_dim < kernel.domain.size(); }
  bool has_row_dim() const { return tiling.row_dim < kernel.domain.size() && tiling.row_dim != tiling.vector_dim; }
  /// Elements of a cell: a vector, or what its lanes are joined to.
  std::uint32_t cell_lanes() const { return reduces_lanes() ? 1 : tiling.lanes; }
  /// Lanes along a reduction dim: accumulators are joined across lanes before the epilogue.
  bool reduces_lanes() const { return has_vector_dim() && kernel.domain[tiling.vector_dim].is_reduction; }
  SizeExpr row_coefficient(const AffineIndex& index) const {
    return has_row_dim() ? index.coefficients[tiling.row_dim] : SizeExpr(0);
  }
  SizeExpr vector_coefficient(const AffineIndex& index) const {
    return has_vector_dim() ? index.coefficients[tiling.vector_dim] : SizeExpr(0);
  }

  Position start() const;
  /// `position` with domain dim `dim` at `index`.
  Position enter(const Position& position, std::size_t dim, const LinearValue& index) const;
  /// `position`, moved on along a dim that it has entered.
  Position move(const Position& position, std::size_t dim, const LinearValue& step) const;
  /// `offset` moved to a row and a vector of the tile.
  LinearValue in_tile(const LinearValue& base, const AffineIndex& index, std::uint32_t row, std::uint32_t vector) const;

 private:
  AccessPlan plan_access(const Access& access, const KernelTensor& tensor, MemoryHandle memory) const;
  std::vector<Variance> find_variance(const Body& body, bool is_epilogue) const;
};

}  // namespace millrace
