// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/ir/affine.h"
#include "jit/ir/linear_value.h"
#include "millrace/jit/map_kernel.h"

namespace millrace {

/// A check that keeps an access inside its tensor: the access touches memory only if 0 <= index < extent.
struct GuardPlan {
  AffineIndex index;
  SizeExpr extent;
  bool has_dynamic_index = false;
  bool fits_i32 = false;  // index and extent fit i32 for every point and lane
};

/// An access as address arithmetic.
struct AccessPlan {
  MemoryHandle memory;
  DType stored = DType::kF32;
  AffineIndex offset;  // elements from the buffer's start
  SizeExpr dynamic_stride;
  std::vector<GuardPlan> guards;
  Scalar other;          // what lanes outside the guards load (u16 for 16-bit floats)
  bool streams = false;  // of a store: whole vectors may bypass the caches
};

/// The position of an access inside the loops entered so far. Each of these loops has added its offset.
struct AccessPosition {
  LinearValue offset;
  std::vector<LinearValue> guards;
};
struct Position {
  std::vector<LinearValue> indices;  // per domain dim
  std::vector<AccessPosition> loads;
  std::vector<AccessPosition> stores;
  std::vector<AccessPosition> temporaries;  // from the tile's first element: they advance along reduction dims only
};

/// Whether a body value changes along the rows or the vectors of a tile. If it does not, one register serves all rows
/// or vectors.
struct Variance {
  bool with_row = false;
  bool with_vector = false;
};

/// The data that all parts of one mapping share.
struct MapContext {
  MapContext(MachineBuilder& builder, const LoopKernel& collapsed, const Tiling& chosen);

  MachineBuilder& b;
  const LoopKernel& kernel;
  Tiling tiling;
  std::vector<AccessPlan> loads;
  std::vector<AccessPlan> stores;
  std::vector<AccessPlan> temporaries;               // empty if the kernel has none, or if they are in registers
  std::vector<MemoryHandle> cells;                   // per reduction: a tile's cells, if the epilogue is a loop
  std::vector<MemoryHandle> tail_blocks;             // per store: private memory for a partial transposed block
  std::vector<std::vector<Variance>> term_variance;  // per pass
  std::vector<Variance> epilogue_variance;

  /// Plans workgroup memory for all temporaries of one tile. Precondition: the reduction dims have upper bounds.
  void place_temporaries();

  bool has_vector_dim() const { return tiling.vector_dim < kernel.domain.size(); }
  bool has_row_dim() const { return tiling.row_dim < kernel.domain.size() && tiling.row_dim != tiling.vector_dim; }
  /// Elements per cell: a vector, or one element if the lanes are joined.
  std::uint32_t cell_lanes() const { return reduces_lanes() ? 1 : tiling.lanes; }
  /// Whether lanes run along a reduction dim. Accumulators are then joined across lanes before the epilogue.
  bool reduces_lanes() const { return has_vector_dim() && kernel.domain[tiling.vector_dim].is_reduction; }
  /// Whether a tile's rows fill the gaps between the lanes of the store: whole rows are then woven in registers, and
  /// stored as vectors.
  bool weaves_rows(const AccessPlan& store) const;
  SizeExpr row_coefficient(const AffineIndex& index) const {
    return has_row_dim() ? index.coefficients[tiling.row_dim] : SizeExpr(0);
  }
  SizeExpr vector_coefficient(const AffineIndex& index) const {
    return has_vector_dim() ? index.coefficients[tiling.vector_dim] : SizeExpr(0);
  }

  /// This context without the bounds checks of affine indices, for tiles that pass them all. The guards of a position
  /// shrink with remove_guards().
  MapContext without_guards() const;
  void remove_guards(Position& position) const;

  Position start() const;
  /// Returns `position` with the index of domain dim `dim` set to `index`.
  Position enter(const Position& position, std::size_t dim, const LinearValue& index) const;
  /// Returns `position` advanced by `step` along a dim that was entered before.
  Position move(const Position& position, std::size_t dim, const LinearValue& step) const;
  /// Returns `base` advanced to a row and a vector of the tile.
  LinearValue in_tile(const LinearValue& base, const AffineIndex& index, std::uint32_t row, std::uint32_t vector) const;

 private:
  void find_variances();
  AccessPlan plan_access(const Access& access, const KernelTensor& tensor, MemoryHandle memory) const;
  bool can_stream(const AccessPlan& store) const;
  std::vector<Variance> find_variance(const Body& body) const;
};

}  // namespace millrace
