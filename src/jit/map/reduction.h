// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "jit/map/body.h"
#include "jit/map/range.h"
#include "jit/map/sum_levels.h"

namespace millrace {

/// A tile's accumulators: [reduction][row][vector].
using Accumulators = std::vector<TileReduction>;

/// A reduction dim that threads share. This thread reduces the points `first`, first + step, ...
struct SharedDim {
  std::size_t dim = 0;
  MachineValue first;
  std::int64_t step = 1;
};

/// Emits one pass of a tile: its reductions, in registers, and what it keeps and stores at each point.
class ReductionEmitter {
 public:
  /// Keeps a reference to `row`: what earlier passes gave, and where this pass puts temporaries that are in registers.
  ReductionEmitter(const MapContext& context, const TileShape& shape, std::uint32_t pass, RowValues& row);

  /// The accumulators before the first term.
  Accumulators initial();
  /// Emits the loops over all reduction dims, at the parallel indices of `position`.
  Accumulators reduce(const Position& position, const std::optional<SharedDim>& shared = {});
  /// Adds one more point of the reduction dims, at `position`.
  Accumulators accumulate(const Position& position, Accumulators accumulators) {
    return accumulate(position, std::move(accumulators), shape_);
  }
  /// Appends the reductions to RowValues::reduced, for later passes and the epilogue.
  void finish(const Accumulators& accumulators);
  const std::vector<Reduction>& reductions() const { return reductions_; }
  std::uint32_t pass() const { return pass_; }

  /// Converts between accumulators and the values that loops carry: two per argmin or argmax, otherwise one.
  RangeValues pack(const Accumulators& accumulators) const;
  Accumulators unpack(const RangeValues& values) const;
  /// Which of the packed values are float sums.
  std::vector<bool> packed_float_sums() const;

 private:
  struct Cell {
    std::uint32_t row = 0;
    std::uint32_t vector = 0;
  };

  /// The loop over one reduction dim.
  struct Loop {
    std::size_t dim = 0;
    std::int64_t tile = 1;  // points of a main step
    std::int64_t tail = 1;  // points of a remainder step
    SumLevels levels = {};
  };

  const Reduction& reduction_of(std::size_t accumulator) const {
    return reductions_[accumulator % num_accumulators() / cells()];
  }
  std::size_t cells() const { return std::size_t{shape_.rows} * shape_.vectors; }
  std::size_t num_accumulators() const { return reductions_.size() * cells(); }
  bool is_unrolled(const Loop&) const;
  std::vector<Loop> plan_loops(const std::optional<SharedDim>&) const;
  RangeSteps steps_of(std::span<const Loop> loops, const Position&, const std::optional<SharedDim>&);
  Accumulators accumulate_terms(const Position&, std::size_t dim, const LinearValue& first, Accumulators);
  Accumulators join_terms(const Accumulators&);
  RangeValues emit_loops(std::span<const Loop> loops, const Position&, const std::optional<SharedDim>&,
                         const RangeValues& carried);
  Accumulators accumulate(const Position&, Accumulators, const TileShape&);
  void write_points(BodyEmitter&, const Position&, const TileShape&);
  TileReduction accumulate_cell(BodyEmitter&, std::size_t reduction, const TileReduction& state, Cell, const Position&);
  MachineValue term_index(Cell, const Position&, bool has_lanes);
  Accumulators accumulate_tail(const Position&, std::optional<MachineValue> remaining, Accumulators);
  Accumulators join_lanes(const Accumulators&);
  TileReduction join(ReductionKind, std::span<const TileReduction> vectors);
  TileReduction join_found(ReductionKind, std::span<const TileReduction> vectors);

  const MapContext& context_;
  MachineBuilder& b_;
  const LoopKernel& kernel_;
  std::uint32_t pass_;
  RowValues& row_;
  std::vector<Reduction> reductions_;  // of the pass
  TileShape shape_;
  std::uint32_t terms_ = 1;  // copies of the accumulators: one per term of a step; above 1 only within reduce()
};

}  // namespace millrace
