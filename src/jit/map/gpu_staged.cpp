// SPDX-License-Identifier: Apache-2.0
// Emits a GPU reduction that stages blocks of its operands in workgroup memory.
#include "jit/map/gpu_staged.h"

#include <algorithm>
#include <bit>

#include "jit/map/tile.h"
#include "millrace/jit/float16_bodies.h"

namespace millrace {
namespace {

/// Padding between the rows of a block, so that threads that store along the reduction access different banks. Without
/// padding, rows of 64 elements of 4 bytes would all begin in the first of 32 banks.
constexpr std::uint64_t kPaddingElements = 4;

/// One load of the term, and its block in workgroup memory: block[reduction point][point along `dim`].
struct StagedLoad {
  std::size_t load = 0;
  std::size_t dim = 0;  // the row dim or the vector dim of the tile
  std::int64_t points = 0;
  std::int64_t pitch = 0;
  MemoryHandle block;
  // The first element that this thread loads. Neighbouring threads load neighbouring elements.
  LinearValue along;   // index along `dim`
  LinearValue across;  // index along the reduction
};

class StagedEmitter {
 public:
  StagedEmitter(const MapContext& context, const GpuMapping& mapping, const StagedPosition& position)
      : context_(context),
        b_(context.b),
        kernel_(context.kernel),
        mapping_(mapping),
        position_(position),
        staged_(context),
        cell_(context),
        reductions_(staged_, {.rows = mapping.tile.row_unroll, .vectors = 1, .mask = {}}, /*pass=*/0, row_) {
    cell_.tiling.lanes = cell_.tiling.row_unroll = 1;
    for (std::size_t i = 0; i < kernel_.loads.size(); ++i) {
      if (is_in_term(i)) plan_block(i);
    }
  }

  void run() {
    plan_loops();
    const RangeValues sums = emit_loops(outer_, position_.group, reductions_.pack(reductions_.initial()));
    reductions_.finish(reductions_.unpack(sums));
    emit_tile_stores();
  }

 private:
  /// A loop over a reduction dim. The loop over the staged dim processes one block per step.
  struct Loop {
    std::size_t dim = 0;
    SumLevels levels = {};
  };

  void plan_loops() {
    std::vector<std::int64_t> max_steps;
    for (std::size_t d = kernel_.num_parallel(); d < kernel_.domain.size(); ++d) {
      if (d == mapping_.staged_dim) continue;
      outer_.push_back({.dim = d});
      max_steps.push_back(kernel_.domain[d].extent.upper_bound());
    }
    blocks_loop_.dim = mapping_.staged_dim;
    const std::int64_t points = mapping_.staged_points;
    max_steps.push_back(kernel_.domain[mapping_.staged_dim].extent.upper_bound() / points + 1);
    max_steps.push_back(points);
    const std::vector<SumLevels> levels = plan_sum_levels(max_steps, max_terms(kernel_));
    for (std::size_t i = 0; i < outer_.size(); ++i) outer_[i].levels = levels[i];
    blocks_loop_.levels = levels[outer_.size()];
    MILLRACE_CHECK(levels.back().levels == 0);
  }

  bool is_in_term(std::size_t load) const {
    return std::ranges::any_of(kernel_.terms[0].instructions, [load](const BodyInstruction& instruction) {
      return instruction.op == KernelOp::kLoad && instruction.immediate == load;
    });
  }

  /// Plans a block for a load, if neighbouring points share its elements. The inner loops then read the block.
  void plan_block(std::size_t load) {
    const AffineIndex& offset = context_.loads[load].offset;
    const bool has_rows = !context_.row_coefficient(offset).is(0);
    if (!has_rows && context_.vector_coefficient(offset).is(0)) return;
    const std::size_t dim = has_rows ? mapping_.tile.row_dim : mapping_.tile.vector_dim;
    const std::int64_t points = mapping_.points_along(dim);
    const PaddedRow row{static_cast<std::uint64_t>(points), kPaddingElements};
    const auto pitch = static_cast<std::int64_t>(row.pitch());
    const DType dtype = body_dtype(context_.loads[load].stored);
    const std::string& name = kernel_.operands[kernel_.loads[load].tensor].name;
    const MemoryHandle block = b_.workgroup_rows(dtype, mapping_.staged_points, row, name);
    blocks_.push_back({load, dim, points, pitch, block, {}, {}});
    place_thread(blocks_.back());
    AccessPlan& plan = staged_.loads[load];
    plan.memory = block;
    plan.stored = dtype;
    plan.offset = constant_index(kernel_.domain.size(), 0);
    plan.offset.coefficients[dim] = 1;
    plan.offset.coefficients[mapping_.staged_dim] = pitch;
  }

  /// Whether neighbours in memory are neighbours along the reduction rather than along `dim`.
  bool is_near_reduction(const StagedLoad& staged) const {
    return context_.loads[staged.load].offset.coefficients[mapping_.staged_dim].is(1);
  }
  std::int64_t near_points(const StagedLoad& staged) const {
    return is_near_reduction(staged) ? mapping_.staged_points : staged.points;
  }

  void place_thread(StagedLoad& staged) {
    const std::int64_t points = near_points(staged);
    const MachineValue thread = b_.thread_id();
    const MachineValue near = b_.bit_and(thread, b_.i32(static_cast<std::int32_t>(points - 1)));
    const MachineValue far = b_.shr(thread, b_.i32(std::countr_zero(static_cast<std::uint64_t>(points))));
    staged.along = LinearValue(b_.convert(DType::kI64, is_near_reduction(staged) ? far : near));
    staged.across = LinearValue(b_.convert(DType::kI64, is_near_reduction(staged) ? near : far));
  }

  RangeValues emit_loops(std::span<const Loop> outer, const Position& position, const RangeValues& carried) {
    if (outer.empty()) return emit_blocks(position, carried);
    const Loop& loop = outer[0];
    RangeSteps steps;
    steps.main_step = [&](const LinearValue& index, const RangeValues& values) {
      return emit_loops(outer.subspan(1), context_.enter(position, loop.dim, index), values);
    };
    steps.main_loop = [&](const MapLoop& main, const RangeValues& values) {
      return emit_nested_sums(b_, main, loop.levels, reductions_.packed_float_sums(), values);
    };
    return emit_range(b_, whole_range(b_, kernel_.domain[loop.dim].extent), steps, carried);
  }

  RangeValues emit_blocks(const Position& position, const RangeValues& carried) {
    const std::size_t dim = mapping_.staged_dim;
    const MachineValue extent = b_.size(kernel_.domain[dim].extent);
    const MachineValue step = b_.i64(mapping_.staged_points);
    const auto add_block = [&](MachineValue first, const RangeValues& values) {
      const Position entered = context_.enter(position, dim, LinearValue(first));
      b_.barrier();  // waits until all threads have read the previous block
      const MachineValue left = b_.sub(extent, first);
      stage(entered, left);
      b_.barrier();
      const bool is_whole = kernel_.domain[dim].extent.known_multiple() % mapping_.staged_points == 0;
      const Position inside = in_blocks(entered);
      const auto add_point = [&](MachineValue index, const RangeValues& sums) {
        const Position point = staged_.enter(inside, dim, LinearValue(index));
        return reductions_.pack(reductions_.accumulate(point, reductions_.unpack(sums)));
      };
      const MachineValue zero = b_.i64(0), one = b_.i64(1);
      const MachineValue end = is_whole ? step : b_.min(left, step);
      return b_.for_loop(zero, end, one, values, add_point);
    };
    const MapLoop blocks{b_.i64(0), extent, step, add_block};
    return emit_nested_sums(b_, blocks, blocks_loop_.levels, reductions_.packed_float_sums(), carried);
  }

  /// The position of this thread's tile in the blocks.
  Position in_blocks(const Position& position) {
    Position inside = position;
    for (const StagedLoad& staged : blocks_) {
      const bool is_row = staged.dim == mapping_.tile.row_dim;
      const LinearValue& place = is_row ? position_.row_place : position_.vector_place;
      inside.loads[staged.load] = {LinearValue(0).plus(b_, place, tile_points(staged.dim)), {}};
    }
    return inside;
  }

  std::int64_t tile_points(std::size_t dim) const { return mapping_.points_along(dim) / mapping_.threads_along(dim); }

  /// Fills the blocks. Issues all loads before the stores, so that their latencies overlap.
  void stage(const Position& position, MachineValue left) {
    struct Element {
      const StagedLoad* staged;
      MachineValue place;
      MachineValue value;
    };
    std::vector<Element> elements;
    for (const StagedLoad& staged : blocks_) {
      const std::int64_t count = staged.points * mapping_.staged_points / mapping_.workgroup_size;
      for (std::int64_t i = 0; i < count; ++i) {
        const LinearValue step(i * mapping_.workgroup_size / near_points(staged));
        const bool is_along = is_near_reduction(staged);
        const LinearValue along = is_along ? staged.along.plus(b_, step) : staged.along;
        const LinearValue across = is_along ? staged.across : staged.across.plus(b_, step);
        const MachineValue value = load_element(staged, position, along, across, left);
        const LinearValue place = along.plus(b_, across, staged.pitch);
        elements.push_back({&staged, place.value(b_), value});
      }
    }
    for (const Element& element : elements) {
      const DType stored = context_.loads[element.staged->load].stored;
      b_.store(element.staged->block, element.place, widen_stored(b_, element.value, stored));
    }
  }

  /// Elements outside the tensor load as 0. No stored result depends on them.
  MachineValue load_element(const StagedLoad& staged, const Position& position, const LinearValue& along,
                            const LinearValue& across, MachineValue left) {
    const AccessPlan& plan = context_.loads[staged.load];
    const MachineValue offset = position.loads[staged.load]
                                    .offset.plus(b_, along, plan.offset.coefficients[staged.dim])
                                    .plus(b_, across, plan.offset.coefficients[mapping_.staged_dim])
                                    .value(b_);
    std::optional<MachineValue> inside;
    if (kernel_.domain[mapping_.staged_dim].extent.known_multiple() % mapping_.staged_points != 0) {
      inside = b_.lt(across.value(b_), left);
    }
    const SizeExpr& extent = kernel_.domain[staged.dim].extent;
    if (extent.known_multiple() % staged.points != 0) {
      const MachineValue index = position.indices[staged.dim].plus(b_, along).value(b_);
      const MachineValue is_before_end = b_.lt(index, LinearValue::of_size(b_, extent).value(b_));
      inside = inside ? b_.bit_and(*inside, is_before_end) : is_before_end;
    }
    if (!inside) return b_.load(plan.memory, offset);
    return b_.load_masked(plan.memory, offset, *inside, b_.constant_scalar(plan.other));
  }

  /// The number of the tile's points along `dim` that are inside the nest; empty if this is always the whole tile.
  std::optional<MachineValue> points_left(std::size_t dim) {
    const SizeExpr& extent = kernel_.domain[dim].extent;
    if (extent.known_multiple() % mapping_.points_along(dim) == 0) return std::nullopt;
    const MachineValue end = LinearValue::of_size(b_, extent).value(b_);
    return b_.sub(end, position_.thread.indices[dim].value(b_));
  }

  void emit_tile_stores() {
    rows_left_ = points_left(mapping_.tile.row_dim);
    lanes_left_ = points_left(mapping_.tile.vector_dim);
    const TileShape whole{.rows = mapping_.tile.row_unroll, .vectors = 1, .mask = {}};
    if (mapping_.stores_one_by_one || whole.rows * mapping_.tile.lanes == 1) return emit_cells();
    const std::optional<MachineValue> is_whole =
        is_inside(LinearValue(whole.rows - 1), LinearValue(mapping_.tile.lanes - 1));
    if (!is_whole) return emit_stores(context_, position_.thread, whole, row_);
    using Values = MachineBuilder::Values;
    b_.if_else(
        *is_whole, [&] { return emit_stores(context_, position_.thread, whole, row_), Values{}; },
        [&] { return emit_cells(), Values{}; });
  }

  /// Whether this row and lane of the tile are inside the nest; empty if they always are.
  std::optional<MachineValue> is_inside(const LinearValue& row, const LinearValue& lane) {
    std::optional<MachineValue> inside;
    if (rows_left_) inside = b_.lt(row.value(b_), *rows_left_);
    if (lanes_left_) {
      const MachineValue has_lane = b_.lt(lane.value(b_), *lanes_left_);
      inside = inside ? b_.bit_and(*inside, has_lane) : has_lane;
    }
    return inside;
  }

  /// Emits the epilogue in a loop over the tile's results. The loop carries them in registers: each iteration stores
  /// the first result and rotates the others.
  void emit_cells() {
    const std::uint32_t lanes = mapping_.tile.lanes;
    MachineBuilder::Values cells;
    for (const MachineValue& sum : row_.reduced) {
      for (std::uint32_t lane = 0; lane < lanes; ++lane) cells.push_back(b_.extract(sum, lane));
    }
    if (cells.size() == 1) return emit_cell(LinearValue(0), LinearValue(0), cells[0]);
    const MachineValue zero = b_.i64(0), one = b_.i64(1), end = b_.i64(static_cast<std::int64_t>(cells.size()));
    b_.for_loop(zero, end, one, cells, [&](MachineValue iteration, MachineBuilder::Values left) {
      const MachineValue row = b_.shr(iteration, b_.i64(std::countr_zero(lanes)));
      const MachineValue lane = b_.bit_and(iteration, b_.i64(lanes - 1));
      emit_cell(LinearValue(row), LinearValue(lane), left[0]);
      std::ranges::rotate(left, left.begin() + 1);
      return left;
    });
  }

  void emit_cell(const LinearValue& row, const LinearValue& lane, const MachineValue& sum) {
    const auto store = [&] {
      Position position = context_.move(position_.thread, mapping_.tile.row_dim, row);
      position = context_.move(position, mapping_.tile.vector_dim, lane);
      emit_stores(cell_, position, {}, {.reduced = {sum}});
    };
    const std::optional<MachineValue> inside = is_inside(row, lane);
    if (!inside) return store();
    const auto nothing = [] { return MachineBuilder::Values{}; };
    b_.if_else(*inside, [&] { return store(), nothing(); }, nothing);
  }

  const MapContext& context_;
  MachineBuilder& b_;
  const LoopKernel& kernel_;
  const GpuMapping& mapping_;
  const StagedPosition& position_;
  MapContext staged_;  // its loads read the blocks
  MapContext cell_;    // its tile is one point
  RowValues row_;
  ReductionEmitter reductions_;
  std::vector<StagedLoad> blocks_;
  std::vector<Loop> outer_;
  Loop blocks_loop_;
  std::optional<MachineValue> rows_left_;  // rows of the tile inside the nest; empty if always all
  std::optional<MachineValue> lanes_left_;
};

}  // namespace

void emit_staged(const MapContext& context, const GpuMapping& mapping, const StagedPosition& position) {
  StagedEmitter(context, mapping, position).run();
}

}  // namespace millrace
