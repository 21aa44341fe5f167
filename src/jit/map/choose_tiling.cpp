// SPDX-License-Identifier: Apache-2.0
// Chooses the tiling of a loop nest on a CPU: the dim of the lanes, the tile in registers and the points per group.
#include <algorithm>
#include <bit>

#include "jit/map/code_estimate.h"
#include "jit/map/interior.h"
#include "jit/map/lane_costs.h"
#include "jit/map/nest.h"
#include "jit/map/sums_in_memory.h"
#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// The maximum size of a workgroup, large enough to make the launch overhead negligible. kPointsPerGroup limits its
/// parallel points. In kernels with reductions, kReductionPointsPerGroup also limits the product of its parallel points
/// and its reduction points.
constexpr std::int64_t kReductionPointsPerGroup = std::int64_t{1} << 18;
constexpr std::int64_t kPointsPerGroup = std::int64_t{1} << 15;
/// A kernel with at most this many times the points of a group is a single group.
constexpr std::int64_t kSingleGroupFactor = 2;
/// The minimum of lanes of blocks transposed in registers: smaller ones gain nothing.
constexpr std::uint32_t kMinTransposedLanes = 4;
/// A row of adjacent transposed blocks fills one cache line. If the blocks then still fit into kTransposedRegisters
/// registers, it fills two lines, which are fetched together.
constexpr std::uint32_t kLineBytes = 64, kTransposedRegisters = 32;
/// Instructions for one cell of a transposed block, including conversions.
constexpr std::int64_t kAccessInstructions = 4, kF16AccessInstructions = 24;
/// The limit for all copies of an epilogue, one per cell of a tile. The remainders can add three more tiles.
constexpr std::int64_t kMaxEpilogueInstructions = kMaxKernelInstructions / 4;
/// The instruction limit for a transposed block: half of a kernel's limit, because a kernel also has code for
/// remainders.
constexpr std::int64_t kMaxTransposedInstructions = kMaxKernelInstructions / 2;
/// The maximum number of instructions in all copies of a body for the rows of a block not transposed in registers.
constexpr std::size_t kMaxBlockInstructions = 128;
/// The number of vectors in a reduction's tile, which share the loads of each row: kVectorsWithWideRows if the target
/// has kWideRegisters registers or more, otherwise kVectorsWithRows. A tile of one row has kVectorsOfOneRow.
constexpr std::uint32_t kWideRegisters = 32, kVectorsWithWideRows = 3, kVectorsWithRows = 2, kVectorsOfOneRow = 4;
/// One in kOperandShare registers is left for operands. The others may be accumulators.
constexpr std::uint32_t kOperandShare = 4;
/// The number of accumulators that keep an adder busy: an addition takes about four cycles, and one can begin in every
/// cycle. A reduction of fewer than kMinSteps steps is not unrolled.
constexpr std::int64_t kEnoughAccumulators = 4, kMinSteps = 16;
/// The number of rows that a nest with several passes computes at a time, if a row has few vectors.
constexpr std::int64_t kFewSteps = 2, kSomeSteps = 8;
constexpr std::uint32_t kRowsOfFewSteps = 4, kRowsOfSomeSteps = 2;
/// A kernel that can never write this much has no streaming stores: four times the smallest usual L2 cache, see
/// CpuDeviceOptions::stream_from_bytes.
constexpr std::int64_t kMinStreamedBytes = std::int64_t{1} << 20;
/// The choice of a row dim counts all dims longer than this as equally long.
constexpr std::int64_t kLongExtent = std::int64_t{1} << 20;
/// The maximum tile if lanes run along a reduction dim. It is small, because each row then ends in a tree of shuffles.
constexpr std::uint32_t kMaxRowsAlongLanes = 4, kMaxVectorsAlongLanes = 2;
/// The cycles of one step of a tile: two multiply-adds start per cycle, each has a latency of four, and the loop itself
/// takes half a cycle. The figures are those of Intel's cores since Skylake (Intel, optimization reference manual).
constexpr double kMulAddsPerCycle = 2, kMulAddCycles = 4, kLoopCycles = 0.5;

class TilingChoice {
 public:
  TilingChoice(const LoopKernel& kernel, const TargetSpec& target)
      : kernel_(kernel),
        num_parallel_(kernel.num_parallel()),
        target_(target),
        costs_(kernel, target),
        reduction_points_(costs_.reduction_points()) {}

  Tiling run() {
    Tiling tiling;
    const std::uint32_t none = static_cast<std::uint32_t>(kernel_.domain.size());
    tiling.vector_dim = tiling.row_dim = none;
    tiling.points_per_group = kPointsPerGroup;
    choose_vector_dim(tiling);
    if (tiling.vector_dim == none) return tiling;
    tiling.row_dim = tiling.vector_dim;
    if (kernel_.terms.empty()) {
      tiling.vector_unroll = vectors_within(tiling, vectors_of_body(kernel_.epilogue));
      choose_block(tiling);
    } else {
      const bool has_passes = classify(kernel_) == LoopKind::kRows;
      if (has_passes) {
        choose_pass_unrolls(tiling);
      } else {
        choose_row_dim(tiling);
        choose_unrolls(tiling);
        tiling.unrolls_reductions = has_short_reduction(kernel_) && tiling.vector_dim < num_parallel_;
      }
      // A point of several passes takes as long as one of a map.
      const std::int64_t points = has_passes ? kPointsPerGroup : kReductionPointsPerGroup;
      tiling.points_per_group = std::clamp<std::int64_t>(points / reduction_points_, 1, kPointsPerGroup);
      tiling.loops_epilogue = num_cells(tiling) > 1 &&
                              num_cells(tiling) * estimate_instructions(kernel_.epilogue) > kMaxEpilogueInstructions;
    }
    // A small kernel gets a single group.
    std::int64_t points = 1;
    for (std::size_t d = 0; d < num_parallel_; ++d) {
      points = saturating::multiply(points, std::min(extent(d), kPointsPerGroup));
    }
    if (points <= kSingleGroupFactor * tiling.points_per_group) tiling.points_per_group *= kSingleGroupFactor;
    tiling.streams = max_written_bytes() >= kMinStreamedBytes;
    return tiling;
  }

 private:
  std::int64_t max_written_bytes() const {
    std::int64_t sum = 0;
    for (const KernelTensor& result : kernel_.results) {
      const auto element_bytes = static_cast<std::int64_t>(size_bytes(result.type.dtype));
      sum = saturating::add(sum, saturating::multiply(element_bytes, result.type.shape.num_elements().upper_bound()));
    }
    return sum;
  }

  std::int64_t extent(std::size_t dim) const { return guess_extent(kernel_.domain[dim].extent); }

  void choose_vector_dim(Tiling& tiling) const {
    double best = 0;
    for (std::size_t dim = kernel_.domain.size(); dim-- > 0;) {
      if (kernel_.domain[dim].is_workgroup_dim) continue;
      const double cost = costs_.along(dim);
      if (tiling.vector_dim < kernel_.domain.size() && cost >= best) continue;
      best = cost;
      tiling.vector_dim = static_cast<std::uint32_t>(dim);
      tiling.lanes = costs_.lanes_along(dim);
    }
  }

  /// Chooses the dim along which rows share the most loads. Rows share a load if it changes along the lanes but not
  /// along the rows.
  void choose_row_dim(Tiling& tiling) const {
    std::pair<std::int64_t, std::int64_t> best = {0, 0};  // shared loads, then points
    for (std::size_t dim = 0; dim < num_parallel_; ++dim) {
      if (dim == tiling.vector_dim || extent(dim) < 2 || kernel_.domain[dim].is_workgroup_dim) continue;
      const std::int64_t shared = std::count_if(costs_.walks().begin(), costs_.walks().end(), [&](const Walk& walk) {
        return walk.in_term && walk.offset.coefficients[dim].is(0) &&
               !walk.offset.coefficients[tiling.vector_dim].is(0);
      });
      if (shared == 0) continue;
      const std::pair benefit = {shared, std::min(extent(dim), kLongExtent)};
      if (benefit <= best) continue;
      best = benefit;
      tiling.row_dim = static_cast<std::uint32_t>(dim);
    }
  }

  /// Cuts a transposing map into square blocks, so that all rows of a block use the cache lines that one gather
  /// touches.
  void choose_block(Tiling& tiling) const {
    for (std::size_t dim = 0; dim < num_parallel_; ++dim) {
      const bool is_transposed = std::any_of(costs_.walks().begin(), costs_.walks().end(), [&](const Walk& walk) {
        const SizeExpr& step = walk.offset.coefficients[tiling.vector_dim];
        return walk.offset.coefficients[dim].is(1) && !step.is(0) && !step.is(1);
      });
      if (dim == tiling.vector_dim || !is_transposed) continue;
      tiling.vector_unroll = 1;
      tiling.row_dim = static_cast<std::uint32_t>(dim);
      if (choose_transposed_block(tiling)) return;
      // Each row has a copy of the body.
      const auto affordable = static_cast<std::int64_t>(kMaxBlockInstructions / kernel_.epilogue.instructions.size());
      const std::int64_t rows =
          std::min({affordable, std::int64_t{tiling.lanes}, kernel_.domain[dim].extent.upper_bound()});
      tiling.row_unroll = static_cast<std::uint32_t>(std::max<std::int64_t>(rows, 1));
      return;
    }
  }

  std::uint32_t transposed_lanes(const Tiling& tiling) const {
    const std::size_t bytes = size_bytes(kernel_.results[0].type.dtype);
    const bool is_narrow_copy = costs_.is_copy() && bytes <= 2;
    return std::min(
        {tiling.lanes, is_narrow_copy ? static_cast<std::uint32_t>(kInterleaveBytes / bytes) : kMaxTransposedLanes});
  }

  /// Chooses square blocks that are transposed in registers. Refuses if the matrix is smaller than a block, or if an
  /// access needs a bounds check per lane.
  bool choose_transposed_block(Tiling& tiling) const {
    const std::uint32_t lanes = transposed_lanes(tiling);
    if (lanes < kMinTransposedLanes || extent(tiling.row_dim) < lanes) return false;
    std::size_t stored_bytes = sizeof(std::uint64_t);
    std::int64_t cell_instructions = estimate_instructions(kernel_.epilogue);
    for (const Walk& walk : costs_.walks()) {
      const bool lies_along_rows = walk.offset.coefficients[tiling.row_dim].is(1);
      if (lies_along_rows && (walk.is_store || walk.is_guarded || walk.is_dynamic)) return false;
      if (walk.is_store) stored_bytes = std::min(stored_bytes, size_bytes(walk.stored));
      cell_instructions +=
          walk.stored == DType::kF16 && !costs_.is_copy() ? kF16AccessInstructions : kAccessInstructions;
    }
    const std::int64_t affordable = kMaxTransposedInstructions / (lanes * cell_instructions);
    if (affordable < 1) return false;
    tiling.transposes_loads = true;
    tiling.loops_tail_stores = std::ranges::any_of(
        kernel_.results, [&](const KernelTensor& result) { return !has_masked_access(target_, result.type.dtype); });
    tiling.lanes = tiling.row_unroll = lanes;
    const auto row_bytes = static_cast<std::uint32_t>(lanes * stored_bytes);
    const std::uint32_t wanted =
        std::max({kLineBytes / row_bytes, std::min(2 * kLineBytes / row_bytes, kTransposedRegisters / lanes), 1u});
    tiling.vector_unroll =
        vectors_within(tiling, static_cast<std::uint32_t>(std::min(std::int64_t{wanted}, affordable)));
    return true;
  }

  /// The number of cells of a tile that run an epilogue.
  std::int64_t num_cells(const Tiling& tiling) const {
    return tiling.row_unroll * (tiling.vector_dim < num_parallel_ ? std::int64_t{tiling.vector_unroll} : 1);
  }

  /// At most `wanted` vectors, and no more than the dim can fill.
  std::uint32_t vectors_within(const Tiling& tiling, std::uint32_t wanted) const {
    const std::int64_t fill = kernel_.domain[tiling.vector_dim].extent.upper_bound() / tiling.lanes;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(fill, 1, wanted));
  }

  void choose_unrolls(Tiling& tiling) const {
    const bool has_rows = tiling.row_dim != tiling.vector_dim;
    const auto registers = static_cast<std::uint32_t>(target_.num_vector_registers());
    const std::uint32_t with_rows = registers >= kWideRegisters ? kVectorsWithWideRows : kVectorsWithRows;
    const auto num_reductions = static_cast<std::uint32_t>(std::max<std::size_t>(kernel_.reductions.size(), 1));
    const std::uint32_t accumulators = std::max((registers - registers / kOperandShare) / num_reductions, 1u);
    const bool has_index = std::any_of(kernel_.reductions.begin(), kernel_.reductions.end(),
                                       [](const Reduction& r) { return returns_index(r.kind); });
    const bool is_long = costs_.num_term_instructions() > kMaxOverlappingInstructions;
    std::uint32_t wanted = has_index || is_long ? 1 : has_rows ? with_rows : kVectorsOfOneRow;
    if (tiling.vector_dim >= num_parallel_ && has_rows) wanted = std::min(wanted, kMaxVectorsAlongLanes);
    tiling.vector_unroll = std::min(vectors_within(tiling, wanted), accumulators);
    if (has_rows) tiling.row_unroll = rows_for(tiling.row_dim, accumulators / tiling.vector_unroll, tiling);
    const bool has_loops = num_parallel_ < kernel_.domain.size() && tiling.vector_dim < num_parallel_;
    if (has_loops && !has_index && !is_long) tiling.term_unroll = terms_for(tiling);
  }

  /// The unrolls of a nest with several passes. If lanes run along the rows, each pass takes no more vectors than its
  /// own body needs, and short rows are computed several at a time, because the joining of lanes is a long chain.
  /// Otherwise all passes have the same vectors, at least a cache line.
  void choose_pass_unrolls(Tiling& tiling) const {
    const bool is_along_rows = tiling.vector_dim >= num_parallel_;
    std::uint32_t vectors = is_along_rows ? 1 : kVectorsOfOneRow;
    for (const Body& term : kernel_.terms) {
      vectors = is_along_rows ? std::max(vectors, vectors_of_body(term)) : std::min(vectors, vectors_of_body(term));
    }
    tiling.vector_unroll = vectors_within(tiling, is_along_rows ? vectors : kVectorsOfOneRow);
    if (!is_along_rows || num_parallel_ == 0 || kernel_.domain[num_parallel_ - 1].is_workgroup_dim) return;
    const std::int64_t steps = reduction_points_ / tiling.lanes;
    const std::uint32_t rows = steps <= kFewSteps ? kRowsOfFewSteps : steps <= kSomeSteps ? kRowsOfSomeSteps : 1;
    if (rows == 1 || extent(num_parallel_ - 1) < rows) return;
    tiling.row_dim = static_cast<std::uint32_t>(num_parallel_ - 1);
    tiling.row_unroll = rows;
  }

  /// The number of points of the innermost reduction dim that one step adds, each to its own accumulators.
  std::uint32_t terms_for(const Tiling& tiling) const {
    const std::int64_t accumulators =
        tiling.row_unroll * tiling.vector_unroll * std::max<std::int64_t>(std::ssize(kernel_.reductions), 1);
    const std::int64_t terms = kEnoughAccumulators / accumulators;
    if (terms < 2 || extent(kernel_.domain.size() - 1) < kMinSteps * terms) return 1;
    return static_cast<std::uint32_t>(terms);
  }

  /// The number of rows, up to `max_rows`, that minimises the cost of traversing `dim`.
  std::uint32_t rows_for(std::size_t dim, std::uint32_t max_rows, const Tiling& tiling) const {
    if (tiling.vector_dim >= num_parallel_) max_rows = std::min(max_rows, kMaxRowsAlongLanes);
    const auto step_cost = [&](std::int64_t rows) {
      return std::max(static_cast<double>(rows * tiling.vector_unroll) / kMulAddsPerCycle, kMulAddCycles) + kLoopCycles;
    };
    const std::int64_t size = extent(dim);
    std::uint32_t best = 1;
    double best_cost = 0;
    for (auto rows = static_cast<std::uint32_t>(std::clamp<std::int64_t>(max_rows, 1, size)); rows > 0; --rows) {
      const double cost =
          static_cast<double>(size / rows) * step_cost(rows) + static_cast<double>(size % rows) * step_cost(1);
      if (best_cost != 0 && cost >= best_cost) continue;
      best_cost = cost;
      best = rows;
    }
    return best;
  }

  const LoopKernel& kernel_;
  std::size_t num_parallel_;
  const TargetSpec& target_;
  LaneCosts costs_;
  std::int64_t reduction_points_;
};

}  // namespace

Tiling choose_tiling(const LoopKernel& kernel, const TargetSpec& target) {
  const LoopKernel collapsed = collapse_dims(kernel);
  return with_sums_in_memory(collapsed, with_interior(collapsed, TilingChoice(collapsed, target).run()));
}

}  // namespace millrace
