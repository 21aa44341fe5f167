// SPDX-License-Identifier: Apache-2.0
// Reduces columns row by row: the loop over the vectors of a tile is inside the loops over the reduction dims, and the
// accumulators of all vectors are in the L1 cache.
#include "jit/map/sums_in_memory.h"

#include <algorithm>

#include "jit/ir/affine.h"
#include "jit/map/nest.h"
#include "jit/map/reduction.h"
#include "jit/map/sum_levels.h"
#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// A tile's accumulators take at most this many bytes, a quarter of the smallest usual L1 cache.
constexpr std::int64_t kMaxBytes = 8 << 10;
/// A row's piece has at least this many vectors; a register tile has the rest.
constexpr std::int64_t kMinVectors = 16;
/// Neighbouring rows that one visit of an accumulator adds.
constexpr std::int64_t kRowsPerVisit = 4;
/// With fewer reduction points, or rows that are closer to each other, registers do as well.
constexpr std::int64_t kMinPoints = 16, kMinStepBytes = 2048;

/// The number of points that each accumulator sums; nothing if it is not known, or more than one accumulator may sum.
std::optional<std::int64_t> summed_points(const LoopKernel& kernel) {
  std::int64_t points = 1;
  for (std::size_t d = kernel.num_parallel(); d < kernel.domain.size(); ++d) {
    if (!kernel.domain[d].extent.is_constant()) return std::nullopt;
    points = saturating::multiply(points, kernel.domain[d].extent.constant());
  }
  return points <= max_terms(kernel) ? std::optional(points) : std::nullopt;
}

class SumsInMemory {
 public:
  SumsInMemory(const MapContext& context, const TileShape& shape)
      : context_(context), b_(context.b), lanes_(context.tiling.lanes), points_(std::int64_t{shape.vectors} * lanes_) {}

  void run(const Position& position) {
    for_each_vector(position, [&](const Position&, MachineValue cell) {
      store(cell, ReductionEmitter(context_, {}, 0, row_).initial());
    });
    emit_loops(context_.kernel.num_parallel(), position);
  }

 private:
  template <typename Emit>
  void for_each_vector(const Position& position, Emit emit) {
    using Values = MachineBuilder::Values;
    b_.for_loop(b_.i64(0), b_.i64(points_), b_.i64(lanes_), {}, [&](MachineValue point, const Values&) -> Values {
      emit(context_.move(position, context_.tiling.vector_dim, LinearValue(point)), point);
      return {};
    });
  }

  void store(MachineValue cell, const Accumulators& accumulators) {
    for (std::size_t i = 0; i < accumulators.size(); ++i) b_.store(context_.cells[i], cell, accumulators[i].value);
  }

  /// Emits the loops over reduction dim `dim` and those after it.
  void emit_loops(std::size_t dim, const Position& position) {
    const bool is_last = dim + 1 == context_.kernel.domain.size();
    RangeSteps steps;
    steps.tile = is_last ? kRowsPerVisit : 1;
    steps.main_step = [&](const LinearValue& index, const RangeValues&) -> RangeValues {
      if (!is_last) emit_loops(dim + 1, context_.enter(position, dim, index));
      if (is_last) add_rows(dim, position, index, kRowsPerVisit);
      return {};
    };
    steps.tail_step = [&](const LinearValue& index, std::optional<MachineValue>, const RangeValues&) -> RangeValues {
      add_rows(dim, position, index, 1);
      return {};
    };
    emit_range(b_, whole_range(b_, context_.kernel.domain[dim].extent), steps, {});
  }

  void add_rows(std::size_t dim, const Position& position, const LinearValue& first, std::int64_t rows) {
    for_each_vector(context_.enter(position, dim, first), [&](const Position& at, MachineValue cell) {
      Accumulators sums;
      for (const MemoryHandle& cells : context_.cells) {
        const MachineValue sum = b_.load(cells, cell, lanes_);
        sums.push_back({sum, sum});
      }
      ReductionEmitter reductions(context_, {}, 0, row_);
      for (std::int64_t row = 0; row < rows; ++row) {
        sums = reductions.accumulate(row == 0 ? at : context_.move(at, dim, LinearValue(row)), std::move(sums));
      }
      store(cell, sums);
    });
  }

  const MapContext& context_;
  MachineBuilder& b_;
  std::uint32_t lanes_;
  std::int64_t points_;  // of the tile
  RowValues row_;        // of no earlier pass
};

}  // namespace

bool has_columns(const LoopKernel& collapsed, std::size_t dim) {
  return std::ranges::any_of(collapsed.loads, [&](const Access& load) {
    const KernelTensor& tensor = collapsed.operands[load.tensor];
    const auto element_bytes = static_cast<std::int64_t>(size_bytes(tensor.type.dtype));
    const SizeExpr step = element_offset(load, tensor.layout, collapsed.domain.size()).coefficients[dim];
    return step.is_constant() && saturating::multiply(step.constant(), element_bytes) >= kMinStepBytes;
  });
}

Tiling with_sums_in_memory(const LoopKernel& collapsed, Tiling tiling) {
  const bool has_vectors = tiling.vector_dim < collapsed.num_parallel() && tiling.lanes > 1 && tiling.row_unroll == 1;
  if (classify(collapsed) != LoopKind::kReduce || !has_vectors || tiling.splits_interior) return tiling;
  const auto finds_index = [](const Reduction& reduction) { return returns_index(reduction.kind); };
  const std::optional<std::int64_t> points = summed_points(collapsed);
  const SizeExpr& extent = collapsed.domain[tiling.vector_dim].extent;
  if (!points || *points < kMinPoints || !extent.is_constant() ||
      !has_columns(collapsed, collapsed.domain.size() - 1) || std::ranges::any_of(collapsed.reductions, finds_index)) {
    return tiling;
  }
  std::int64_t vector_bytes = 0;
  for (const Reduction& reduction : collapsed.reductions) {
    vector_bytes += tiling.lanes * static_cast<std::int64_t>(size_bytes(reduction.dtype));
  }
  const std::int64_t vectors = extent.constant() / tiling.lanes, max_vectors = kMaxBytes / vector_bytes;
  if (vectors < kMinVectors || max_vectors < kMinVectors) return tiling;
  const std::int64_t pieces = (vectors + max_vectors - 1) / max_vectors;
  tiling.vector_unroll = static_cast<std::uint32_t>(vectors / pieces);
  tiling.term_unroll = 1;
  tiling.row_dim = tiling.vector_dim;
  tiling.sums_in_memory = tiling.loops_epilogue = true;
  return tiling;
}

void emit_sums_in_memory(const MapContext& context, const Position& position, const TileShape& shape) {
  SumsInMemory(context, shape).run(position);
}

}  // namespace millrace
