// SPDX-License-Identifier: Apache-2.0
// Maps loop nests to machine kernels. For a CPU, makes the tiling smaller until the kernel's code is short enough.
#include "millrace/jit/map_kernel.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "jit/map/code_estimate.h"
#include "jit/map/gpu.h"
#include "jit/map/nest.h"
#include "jit/map/range.h"
#include "jit/map/temporaries.h"
#include "jit/map/tile.h"

namespace millrace {
namespace {

Status check_tiling(const LoopKernel& kernel, const Tiling& tiling) {
  const auto refuse = [&](std::string why) {
    return invalid_argument(fmt::format("map '{}' with {}: {}", kernel.name, to_text(tiling), why));
  };
  if (!std::has_single_bit(tiling.lanes)) return refuse("lanes must be a power of two");
  if (tiling.vector_unroll == 0 || tiling.row_unroll == 0 || tiling.term_unroll == 0) return refuse("an unroll is 0");
  if (tiling.points_per_group < 1) return refuse("no points in a group");
  if (tiling.transposes_loads && tiling.row_unroll != tiling.lanes)
    return refuse("transposed loads in a block that is not square");
  const bool has_vector_dim = tiling.vector_dim < kernel.domain.size();
  if (!has_vector_dim && tiling.lanes * tiling.vector_unroll != 1) return refuse("more than one lane, but no lane dim");
  if (tiling.row_dim == tiling.vector_dim || tiling.row_dim >= kernel.domain.size()) {
    if (tiling.row_unroll != 1) return refuse("more than one row, but no separate row dim");
  } else if (kernel.domain[tiling.row_dim].is_reduction) {
    return refuse("rows along a reduction dim");
  }
  if (tiling.sums_in_memory) {
    const bool is_plain = classify(kernel) == LoopKind::kReduce && tiling.vector_dim < kernel.num_parallel();
    const auto is_arg = [](const Reduction& reduction) { return returns_index(reduction.kind); };
    if (!is_plain || std::ranges::any_of(kernel.reductions, is_arg)) return refuse("sums in memory, but no plain sums");
    if (!tiling.loops_epilogue || tiling.row_unroll * tiling.term_unroll != 1) {
      return refuse("sums in memory, but rows or terms in registers, or no loop over the epilogue");
    }
  }
  if (tiling.term_unroll == 1) return {};
  const auto is_arg = [](const Reduction& reduction) { return returns_index(reduction.kind); };
  const bool has_reduction_dim = kernel.num_parallel() < kernel.domain.size();
  if (!has_reduction_dim || std::ranges::any_of(kernel.reductions, is_arg)) {
    return refuse("terms unrolled, but no reduction of values");
  }
  if (has_vector_dim && kernel.domain[tiling.vector_dim].is_reduction) return refuse("terms unrolled along lanes");
  return {};
}

/// Emits the loops over the parallel dims. Each group has one index of every dim outside the split dim, and a chunk of
/// the split dim. It loops over the dims inside the split dim.
class NestEmitter {
 public:
  explicit NestEmitter(const MapContext& context)
      : context_(context), b_(context.b), split_(split_nest(context.kernel, context.tiling)) {}

  void run() {
    b_.set_num_groups(split_.num_groups);
    Position position = context_.start();
    if (split_.order.empty()) return emit_tile(context_, position, {});
    LinearValue group = split_.num_groups.is(1) ? LinearValue(0) : LinearValue(b_.workgroup_id());
    const LinearValue chunk = take_index(group, split_.num_chunks, split_.split == 0);
    for (std::size_t i = split_.split; i-- > 0;) {
      const std::size_t dim = split_.order[i];
      position = context_.enter(position, dim, take_index(group, context_.kernel.domain[dim].extent, i == 0));
    }
    emit_dim(split_.split, position, chunk_range(chunk), {});
  }

 private:
  /// Removes the last digit of `number` in base `extent` and returns it.
  LinearValue take_index(LinearValue& number, const SizeExpr& extent, bool is_last) {
    if (extent.is(1) || number.is_zero()) return LinearValue(0);
    if (is_last) return number;
    const MachineValue whole = number.value(b_);
    const MachineValue base = LinearValue::of_size(b_, extent).value(b_);
    number = LinearValue(b_.div(whole, base));
    return LinearValue(b_.rem(whole, base));
  }

  MapRange chunk_range(const LinearValue& chunk) {
    const SizeExpr& extent = context_.kernel.domain[split_.order[split_.split]].extent;
    if (split_.num_chunks.is(1)) return whole_range(b_, extent);
    MapRange range;
    range.lower = LinearValue(0).plus(b_, chunk, split_.chunk);
    range.multiple = std::gcd(split_.chunk, extent.known_multiple());
    if (extent.known_multiple() % split_.chunk == 0) {
      range.size = split_.chunk;
    } else {
      const MachineValue end = range.lower.plus(b_, LinearValue(split_.chunk)).value(b_);
      range.upper = b_.min(end, LinearValue::of_size(b_, extent).value(b_));
    }
    return range;
  }

  /// Emits the loop over dim order[level] and the loops inside it. `shape` is the tile's shape as far as the outer dims
  /// determine it.
  void emit_dim(std::size_t level, const Position& position, const MapRange& range, const TileShape& shape) {
    const std::size_t dim = split_.order[level];
    const auto inside = [this, level, dim, &position](const LinearValue& index, const TileShape& inner) -> RangeValues {
      const Position entered = context_.enter(position, dim, index);
      if (level + 1 == split_.order.size()) {
        emit_tile(context_, entered, inner);
      } else {
        emit_dim(level + 1, entered, whole_range(b_, context_.kernel.domain[split_.order[level + 1]].extent), inner);
      }
      return {};
    };
    const std::uint32_t lanes = context_.tiling.lanes;
    const bool is_row = context_.has_row_dim() && dim == context_.tiling.row_dim;
    const bool is_vector = dim == context_.tiling.vector_dim;
    TileShape main_shape = shape;
    if (is_row) main_shape.rows = context_.tiling.row_unroll;
    if (is_vector) main_shape.vectors = context_.tiling.vector_unroll;
    RangeSteps steps;
    steps.tile = tile_of(context_.tiling, dim);
    steps.tail = is_vector ? lanes : 1;
    steps.main_step = [&](const LinearValue& index, const RangeValues&) { return inside(index, main_shape); };
    steps.tail_step = [&](const LinearValue& index, std::optional<MachineValue> remaining, const RangeValues&) {
      TileShape tail = shape;
      if (remaining) {
        tail.mask = lane_mask(b_, lanes, *remaining);
        tail.points = remaining;
      }
      return inside(index, tail);
    };
    emit_range(b_, range, steps, {});
  }

  const MapContext& context_;
  MachineBuilder& b_;
  NestSplit split_;
};

/// Changes a tiling so that its code becomes shorter. Returns false, and changes nothing, if it cannot.
using Shortening = bool (*)(const LoopKernel&, Tiling&);

bool check_all_tiles(const LoopKernel&, Tiling& tiling) { return std::exchange(tiling.splits_interior, false); }

bool loop_over_terms(const LoopKernel&, Tiling& tiling) { return std::exchange(tiling.unrolls_reductions, false); }

bool loop_over_cells(const LoopKernel& kernel, Tiling& tiling) {
  if (kernel.terms.empty() || tiling.loops_epilogue) return false;
  return tiling.loops_epilogue = true;
}

bool take_single_terms(const LoopKernel&, Tiling& tiling) {
  if (tiling.term_unroll == 1) return false;
  tiling.term_unroll = 1;
  return true;
}

bool halve_tile(const LoopKernel&, Tiling& tiling) {
  if (tiling.transposes_loads && tiling.vector_unroll == 1) {  // keep the block square
    tiling.lanes = tiling.row_unroll = tiling.lanes / 2;
    tiling.transposes_loads = tiling.lanes > 1;
    return true;
  }
  const bool is_rows = tiling.row_unroll >= tiling.vector_unroll && !tiling.transposes_loads;
  std::uint32_t& longest = is_rows ? tiling.row_unroll : tiling.vector_unroll;
  if (longest == 1) return false;
  longest = (longest + 1) / 2;
  return true;
}

/// Halves the lanes. If LLVM splits vectors into lanes, the length of the code is proportional to their number.
bool halve_lanes(const LoopKernel&, Tiling& tiling) {
  if (tiling.lanes == 1 || tiling.transposes_loads) return false;
  tiling.lanes /= 2;
  return true;
}

/// A step that saves less than 1 / kMinSavedShare of the instructions is rejected.
constexpr std::int64_t kMinSavedShare = 10;

/// The ways to shorten a tiling's code, tried in this order: the cheapest at run time first.
constexpr Shortening kShortenings[] = {check_all_tiles,   loop_over_terms, loop_over_cells,
                                       take_single_terms, halve_tile,      halve_lanes};

/// A tile, with the names of the nest's dims: "16 lanes x 4 along n, 6 rows along m". Dims that the nest does not have
/// are left out.
std::string tile_text(const Tiling& tiling, const LoopKernel& collapsed) {
  const auto along = [&](std::uint32_t dim) {
    return dim < collapsed.domain.size() ? " along " + collapsed.domain[dim].name : std::string();
  };
  std::string text = fmt::format("{} lane{}", tiling.lanes, tiling.lanes == 1 ? "" : "s");
  if (tiling.vector_unroll > 1) text += fmt::format(" x {}", tiling.vector_unroll);
  text += along(tiling.vector_dim);
  if (tiling.row_unroll > 1) text += fmt::format(", {} rows{}", tiling.row_unroll, along(tiling.row_dim));
  if (tiling.term_unroll > 1) text += fmt::format(", {} terms at a time", tiling.term_unroll);
  if (tiling.sums_in_memory) text += ", sums in memory";
  if (tiling.loops_epilogue && !tiling.sums_in_memory) text += ", epilogue in a loop";
  if (tiling.transposes_loads) text += ", loads transposed in registers";
  if (tiling.splits_interior) text += ", no bounds checks inside the operands";
  return text;
}

/// "; 3 passes, 1 of 2 temporaries in memory"; empty for a nest of one pass.
std::string passes_text(const LoopKernel& collapsed, const Tiling& tiling) {
  if (classify(collapsed) != LoopKind::kRows) return "";
  const std::vector<bool> keeps = kept_in_memory(collapsed, tiling);
  return fmt::format("; {} passes, {} of {} temporaries in memory", collapsed.terms.size(),
                     std::ranges::count(keeps, true), keeps.size());
}

Result<MachineKernel> map_tiled(const LoopKernel& kernel, const Tiling& tiling) {
  LoopKernel collapsed = collapse_dims(kernel);
  MILLRACE_TRY(check_tiling(collapsed, tiling));
  if (!collapsed.temporaries.empty()) collapsed = keep_temporaries(collapsed, kept_in_memory(collapsed, tiling));
  MachineBuilder builder(kernel.name);
  MapContext context(builder, collapsed, tiling);
  context.place_temporaries();
  NestEmitter(context).run();
  return builder.finish();
}

Result<DescribedKernel> map_short_kernel(const LoopKernel& kernel, const TargetSpec& target) {
  Tiling tiling = choose_tiling(kernel, target);
  MILLRACE_TRY_ASSIGN(MachineKernel mapped, map_tiled(kernel, tiling));
  std::int64_t instructions = estimate_instructions(mapped, target);
  for (const Shortening shorten : kShortenings) {
    while (instructions > kMaxKernelInstructions) {
      Tiling shorter = tiling;
      if (!shorten(kernel, shorter)) break;
      MILLRACE_TRY_ASSIGN(MachineKernel candidate, map_tiled(kernel, shorter));
      const std::int64_t left = estimate_instructions(candidate, target);
      if (left > instructions - instructions / kMinSavedShare) break;
      tiling = shorter;
      mapped = std::move(candidate);
      instructions = left;
    }
  }
  const LoopKernel collapsed = collapse_dims(kernel);
  return DescribedKernel{std::move(mapped), fmt::format("{}, {} points per group{}", tile_text(tiling, collapsed),
                                                        tiling.points_per_group, passes_text(collapsed, tiling))};
}

std::string describe(const GpuMapping& mapping, const LoopKernel& collapsed) {
  const Tiling& tile = mapping.tile;
  const bool is_point = tile.lanes * tile.vector_unroll * tile.row_unroll == 1;
  std::string text = (is_point ? "1 point" : tile_text(tile, collapsed)) + " per thread; threads";
  for (const ThreadDim& dim : mapping.threads) {
    text += fmt::format(" {} along {},", dim.threads, collapsed.domain[dim.dim].name);
  }
  text += fmt::format(" {} per workgroup", mapping.workgroup_size);
  if (mapping.staged_points > 0) {
    text += fmt::format("; operands staged in workgroup memory, {} points of {} at a time", mapping.staged_points,
                        collapsed.domain[mapping.staged_dim].name);
  }
  if (classify(collapsed) == LoopKind::kRows) {
    text += fmt::format("; {} passes", collapsed.terms.size());
    if (mapping.points_in_registers > 0) text += fmt::format(", {} points in registers", mapping.points_in_registers);
  }
  return text;
}

Status check_has_tilings(const LoopKernel& kernel, const TargetSpec& target) {
  if (target.is_cpu()) return {};
  return unimplemented(fmt::format("map '{}': target {} has no tilings, expected cpu", kernel.name, target.to_text()));
}

}  // namespace

std::string to_text(const Tiling& tiling) {
  std::string text =
      fmt::format("tiling {{ d{} x {} lanes x {}, rows d{} x {}, {} points per group", tiling.vector_dim, tiling.lanes,
                  tiling.vector_unroll, tiling.row_dim, tiling.row_unroll, tiling.points_per_group);
  if (tiling.term_unroll != 1) text += fmt::format(", {} terms at a time", tiling.term_unroll);
  if (tiling.loops_epilogue) text += ", epilogue in a loop";
  if (tiling.transposes_loads) text += ", loads transposed";
  if (tiling.loops_tail_stores) text += ", tail stores in a loop";
  if (tiling.streams) text += ", stores may stream";
  if (tiling.splits_interior) text += ", interior apart";
  if (tiling.sums_in_memory) text += ", sums in memory";
  if (tiling.unrolls_reductions) text += ", no loops over terms";
  return text + " }";
}

Result<DescribedKernel> map_and_describe(const LoopKernel& kernel, const TargetSpec& target) {
  return guard_allocations([&]() -> Result<DescribedKernel> {
    MILLRACE_TRY(verify_step(kernel));
    if (!target.is_gpu()) {
      MILLRACE_TRY(check_has_tilings(kernel, target));
      return map_short_kernel(kernel, target);
    }
    LoopKernel collapsed = collapse_dims(kernel);
    const GpuMapping mapping = choose_gpu_mapping(collapsed, target);
    if (mapping.points_in_registers == 0) {
      collapsed = keep_temporaries(collapsed, std::vector<bool>(collapsed.temporaries.size(), false));
    }
    return DescribedKernel{map_gpu_kernel(collapsed, target, mapping), describe(mapping, collapsed)};
  });
}

Result<MachineKernel> map_kernel(const LoopKernel& kernel, const TargetSpec& target) {
  return guard_allocations([&]() -> Result<MachineKernel> {
    MILLRACE_TRY(verify(kernel));
    MILLRACE_TRY_ASSIGN(DescribedKernel described, map_and_describe(kernel, target));
    return std::move(described.kernel);
  });
}

Result<MachineKernel> map_kernel(const LoopKernel& kernel, const TargetSpec& target, const Tiling& tiling) {
  return guard_allocations([&]() -> Result<MachineKernel> {
    MILLRACE_TRY(check_has_tilings(kernel, target));
    MILLRACE_TRY(verify(kernel));
    return map_tiled(kernel, tiling);
  });
}

}  // namespace millrace
