// SPDX-License-Identifier: Apache-2.0
// Maps a loop nest to a GPU kernel: finds the tile of each thread, and joins the results of threads that share a
// reduction.
#include "jit/map/gpu.h"

#include <bit>
#include <functional>

#include "jit/map/gpu_staged.h"
#include "jit/map/nest.h"
#include "jit/map/tile.h"

namespace millrace {
namespace {

class GpuNestEmitter {
 public:
  GpuNestEmitter(const MapContext& context, const GpuMapping& mapping, std::uint32_t subgroup_size)
      : context_(context), b_(context.b), kernel_(context.kernel), mapping_(mapping), subgroup_size_(subgroup_size) {}

  void run() {
    b_.set_workgroup(mapping_.workgroup_size, subgroup_size_);
    place_threads();
    enter_group();
    enter_tile();
    if (mapping_.staged_points > 0) return emit_staged(context_, mapping_, staged_position());
    if (shared_) return emit_shared_passes();
    if_active([&] { emit_tile(context_, position_, {}); });
  }

 private:
  /// Computes this thread's index along each dim.
  void place_threads() {
    places_.resize(kernel_.domain.size());
    std::uint32_t first_bit = 0;
    for (const ThreadDim& along : mapping_.threads) {
      const auto end_bit = first_bit + static_cast<std::uint32_t>(std::countr_zero(along.threads));
      MachineValue place = b_.thread_id();
      if (first_bit > 0) place = b_.shr(place, b_.i32(static_cast<std::int32_t>(first_bit)));
      if (mapping_.workgroup_size >> end_bit > 1) {
        place = b_.bit_and(place, b_.i32(static_cast<std::int32_t>(along.threads - 1)));
      }
      const MachineValue wide = b_.convert(DType::kI64, place);
      places_[along.dim] = LinearValue(wide);
      if (kernel_.domain[along.dim].is_reduction) {
        shared_ = SharedDim{along.dim, wide, along.threads};
        shared_bits_ = {first_bit, end_bit};
      }
      first_bit = end_bit;
    }
    if (mapping_.num_threads() < mapping_.workgroup_size) {
      require(b_.lt(b_.thread_id(), b_.i32(static_cast<std::int32_t>(mapping_.num_threads()))));
    }
  }

  SizeExpr num_chunks(std::size_t dim) const {
    const SizeExpr& extent = kernel_.domain[dim].extent;
    const std::int64_t points = mapping_.points_along(dim);
    if (points == 1) return extent;
    return extent.lower_bound() >= 1 && extent.upper_bound() <= points ? SizeExpr(1) : ceil_div(extent, points);
  }

  /// Computes the first point of this workgroup along each parallel dim.
  void enter_group() {
    SizeExpr num_groups = 1;
    std::size_t outermost = kernel_.num_parallel();  // the outermost of the dims with several chunks
    for (std::size_t d = kernel_.num_parallel(); d-- > 0;) {
      num_groups = num_groups * num_chunks(d);
      if (!num_chunks(d).is(1)) outermost = d;
    }
    b_.set_num_groups(num_groups);
    first_points_.resize(kernel_.num_parallel());
    // There are fewer than 2^32 groups, so u32 divisions suffice.
    MachineValue group = b_.convert(DType::kU32, b_.workgroup_id());
    for (std::size_t d = kernel_.num_parallel(); d-- > 0;) {
      LinearValue chunk(0);
      if (d == outermost) {
        chunk = LinearValue(b_.convert(DType::kI64, group));
      } else if (!num_chunks(d).is(1)) {
        const MachineValue count = b_.convert(DType::kU32, LinearValue::of_size(b_, num_chunks(d)).value(b_));
        chunk = LinearValue(b_.convert(DType::kI64, b_.rem(group, count)));
        group = b_.div(group, count);
      }
      first_points_[d] = LinearValue(0).plus(b_, chunk, mapping_.points_along(d));
    }
  }

  /// Computes the parallel indices of this thread's tile, and whether they are inside the nest.
  void enter_tile() {
    position_ = context_.start();
    for (std::size_t d = kernel_.num_parallel(); d-- > 0;) {
      const SizeExpr& extent = kernel_.domain[d].extent;
      const LinearValue index = first_points_[d].plus(b_, places_[d], tile_of(mapping_.tile, d));
      position_ = context_.enter(position_, d, index);
      if (extent.known_multiple() % mapping_.points_along(d) == 0) continue;
      require(b_.lt(index.value(b_), LinearValue::of_size(b_, extent).value(b_)));
    }
  }

  StagedPosition staged_position() {
    Position group = context_.start();
    for (std::size_t d = kernel_.num_parallel(); d-- > 0;) group = context_.enter(group, d, first_points_[d]);
    return {group, position_, places_[mapping_.tile.row_dim], places_[mapping_.tile.vector_dim]};
  }

  void require(MachineValue condition) { is_active_ = is_active_ ? b_.bit_and(*is_active_, condition) : condition; }

  void if_active(const std::function<void()>& body) {
    if (!is_active_) return body();
    const auto nothing = [] { return MachineBuilder::Values{}; };
    b_.if_else(*is_active_, [&] { return body(), nothing(); }, nothing);
  }

  /// In each pass, each thread takes its share of the points, and the threads join their reductions. Finally, the first
  /// thread runs the epilogue.
  void emit_shared_passes() {
    const SharingThreads threads{mapping_.workgroup_size, subgroup_size_, shared_bits_};
    RowValues row;
    RegisterPoints points;
    for (std::uint32_t pass = 0; pass < kernel_.terms.size(); ++pass) {
      ReductionEmitter reductions(context_, {}, pass, row);
      const RangeValues mine =
          mapping_.points_in_registers > 0 ? run_in_registers(reductions, row, points) : run_in_loop(reductions);
      const Accumulators all = join_threads(b_, threads, reductions.reductions(), reductions.unpack(mine));
      reductions.finish(all);
    }
    if (kernel_.stores_of({}).empty()) return;
    require(b_.eq(shared_->first, b_.i64(0)));
    if_active([&] { emit_stores(context_, position_, {}, row); });
  }

  RangeValues run_in_loop(ReductionEmitter& reductions) {
    const auto reduce = [&] { return reductions.pack(reductions.reduce(position_, shared_)); };
    const auto start = [&] { return reductions.pack(reductions.initial()); };
    return is_active_ ? b_.if_else(*is_active_, reduce, start) : reduce();
  }

  /// The temporaries of each of this thread's points.
  using RegisterPoints = std::vector<std::vector<MachineValue>>;

  /// Runs a pass without a loop, with the temporaries of all points of the thread in registers.
  RangeValues run_in_registers(ReductionEmitter& reductions, RowValues& row, RegisterPoints& points) {
    points.resize(mapping_.points_in_registers);
    const std::size_t num_earlier = points[0].size();
    const auto run = [&] {
      Accumulators accumulators = reductions.initial();
      RangeValues kept;
      for (std::size_t i = 0; i < points.size(); ++i) {
        const LinearValue step(static_cast<std::int64_t>(i) * shared_->step);
        const Position at = context_.enter(position_, shared_->dim, LinearValue(shared_->first).plus(b_, step));
        row.temporaries = points[i];
        accumulators = reductions.accumulate(at, std::move(accumulators));
        kept.insert(kept.end(), row.temporaries.begin() + static_cast<std::ptrdiff_t>(num_earlier),
                    row.temporaries.end());
      }
      RangeValues values = reductions.pack(accumulators);
      values.insert(values.end(), kept.begin(), kept.end());
      return values;
    };
    const auto skip = [&] {
      RangeValues values = reductions.pack(reductions.initial());
      for (std::size_t i = 0; i < points.size(); ++i) {
        for (const Temporary& temporary : kernel_.temporaries) {
          if (temporary.pass == reductions.pass()) values.push_back(b_.constant_scalar({temporary.dtype, 0}));
        }
      }
      return values;
    };
    RangeValues values = is_active_ ? b_.if_else(*is_active_, run, skip) : run();
    const auto num_reduced = static_cast<std::ptrdiff_t>(reductions.packed_float_sums().size());
    auto next = values.begin() + num_reduced;
    const auto num_kept = (values.end() - next) / static_cast<std::ptrdiff_t>(points.size());
    for (std::vector<MachineValue>& point : points) {
      point.insert(point.end(), next, next + num_kept);
      next += num_kept;
    }
    values.resize(static_cast<std::size_t>(num_reduced));
    return values;
  }

  const MapContext& context_;
  MachineBuilder& b_;
  const LoopKernel& kernel_;
  const GpuMapping& mapping_;
  std::uint32_t subgroup_size_;
  std::vector<LinearValue> places_;        // this thread's index along each dim
  std::vector<LinearValue> first_points_;  // the first point of the workgroup along each parallel dim
  std::optional<SharedDim> shared_;
  ThreadBits shared_bits_;
  Position position_;
  std::optional<MachineValue> is_active_;  // empty: always active
};

}  // namespace

MachineKernel map_gpu_kernel(const LoopKernel& collapsed, const TargetSpec& target, const GpuMapping& mapping) {
  MachineBuilder builder(collapsed.name);
  const MapContext context(builder, collapsed, mapping.tile);
  GpuNestEmitter(context, mapping, target.subgroup_size()).run();
  return builder.finish();
}

}  // namespace millrace
