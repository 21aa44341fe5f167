// SPDX-License-Identifier: Apache-2.0
// Lowers a nest of few long reductions. One kernel reduces each part of a reduction, so that CPU threads or GPU
// workgroups can share it, and another kernel reduces their results. If the parts are uneven, a third kernel reduces
// the rest. The parts depend only on the sizes and the target, so results do not depend on the number of threads.
#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/loop/split_reduction.h"
#include "jit/algorithms/size_margin.h"
#include "jit/lanes/match_arg.h"
#include "jit/map/gpu_mapping.h"
#include "jit/map/nest.h"
#include "jit/map/sum_levels.h"
#include "jit/map/sums_in_memory.h"
#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// When to split. A nest with fewer than `few_groups` groups is split along its longest reduction dim. Each part has at
/// least `part_terms` terms and `part_points` points of that dim. There are no more parts than `wanted_groups` groups
/// need. A nest stays whole if its group count is known only at run time.
struct PartsRule {
  std::int64_t few_groups, wanted_groups, part_terms, part_points;
};
/// A part keeps one core busy for 5 us or more, while starting another kernel takes less than 1 us.
constexpr PartsRule kCpuRule{
    .few_groups = 16, .wanted_groups = 64, .part_terms = std::int64_t{1} << 16, .part_points = 512};
/// Each thread of a workgroup of 256 gets at least 16 terms, and each tile of a product gets as many terms as one
/// accumulator sums. Large GPUs have 96 or more compute units.
constexpr PartsRule kGpuRule{
    .few_groups = 96, .wanted_groups = 256, .part_terms = std::int64_t{1} << 12, .part_points = 512};
/// The minimum number of parts; a nest that would have fewer stays whole.
constexpr std::int64_t kMinParts = 4;
/// The maximum number of results of a product that is split. Larger products have enough tiles for threads to share.
constexpr std::int64_t kMaxProducts = 16;
/// The length of a part is a multiple of this many points, so that only the rest has a partial vector.
constexpr std::int64_t kLengthMultiple = 64;

/// A part of columns has at least kMinColumnLength points, and at most kMaxSumTerms, so that one accumulator sums them
/// (with_sums_in_memory). Columns that are shorter than kMinColumn stay whole.
constexpr std::int64_t kMinColumnLength = 64, kMinColumn = 512;

std::int64_t ceil_div_of(std::int64_t value, std::int64_t unit) { return value / unit + (value % unit != 0); }

/// An upper bound on the groups of the nest before it is split.
std::int64_t num_groups(const LoopKernel& collapsed, const TargetSpec& spec) {
  if (!spec.is_gpu()) return split_nest(collapsed, choose_tiling(collapsed, spec)).num_groups.upper_bound();
  const GpuMapping mapping = choose_gpu_mapping(collapsed, spec);
  std::int64_t groups = 1;
  for (std::size_t d = 0; d < collapsed.num_parallel(); ++d) {
    const std::int64_t extent = collapsed.domain[d].extent.upper_bound();
    groups = saturating::multiply(groups, ceil_div_of(extent, mapping.points_along(d)));
  }
  return groups;
}

struct PartsPlan {
  ReductionParts parts;
  SizeExpr margin = 1;  // at least 1 for sizes for which splitting is faster
};

/// The divisor of `extent` nearest to `wanted`; `wanted` itself if no divisor is within wanted / 2 of it.
std::int64_t even_parts(std::int64_t extent, std::int64_t wanted) {
  for (std::int64_t more = 0; more <= wanted / 2; ++more) {
    for (const std::int64_t parts : {wanted + more, wanted - more}) {
      if (parts > 1 && extent % parts == 0) return parts;
    }
  }
  return wanted;
}

/// The quantities that the rule compares. A size known only at run time counts as its upper bound in a parallel dim,
/// and as 1 in a reduction dim other than the longest.
struct Work {
  std::int64_t points = 1;           // an upper bound on the parallel points
  std::int64_t terms_per_index = 1;  // a lower bound on the terms per point and per index of the longest dim
  std::size_t longest = 0;           // the longest reduction dim
};

Work work_of(const LoopKernel& collapsed) {
  Work work;
  work.longest = collapsed.num_parallel();
  for (std::size_t d = 0; d < collapsed.domain.size(); ++d) {
    const std::int64_t bound = collapsed.domain[d].extent.upper_bound();
    if (!collapsed.domain[d].is_reduction) {
      work.points = saturating::multiply(work.points, bound);
    } else if (bound > collapsed.domain[work.longest].extent.upper_bound()) {
      work.longest = d;
    }
  }
  for (std::size_t d = collapsed.num_parallel(); d < collapsed.domain.size(); ++d) {
    const SizeExpr& extent = collapsed.domain[d].extent;
    if (d != work.longest && extent.is_constant()) {
      work.terms_per_index = saturating::multiply(work.terms_per_index, extent.constant());
    }
  }
  return work;
}

/// Whether threads can share the nest without parts: the tiles of a product, or an argmin or argmax by lanes
/// (lane_arg_parts.cpp).
bool is_shared_elsewhere(const LoopKernel& collapsed, const TargetSpec& spec, const Work& work) {
  if (spec.is_gpu()) return false;
  if (classify(collapsed) == LoopKind::kContract && work.points > kMaxProducts) return true;
  return spec.isa != IsaLevel::kBaseline && finds_index(collapsed) && match_arg(collapsed).ok();
}

/// Splits `extent` points into parts. Unless the parts are provably even, a rest remains; it has at least one point, so
/// that an argmin or argmax of it has an index.
ReductionParts split_dim(std::size_t dim, const SizeExpr& extent, std::int64_t parts, std::int64_t multiple) {
  ReductionParts result{.dim = dim, .parts = parts};
  if (extent.is_constant()) {
    result.parts = even_parts(extent.constant(), parts);
    result.length = extent.constant() / result.parts;
    if (extent.constant() % result.parts == 0) return result;
  }
  const SizeExpr length = floor_div(max(extent - 1, 0), result.parts);
  result.length = floor_div(length, multiple) * multiple;
  result.rest = extent - result.length * result.parts;
  return result;
}

/// The parts of long columns on a CPU, so short that each is summed in the L1 cache; nothing for other nests.
std::optional<ReductionParts> column_parts(const LoopKernel& collapsed, const TargetSpec& spec, const Work& work) {
  const SizeExpr& extent = collapsed.domain[work.longest].extent;
  const bool is_long = spec.is_cpu() && extent.is_constant() && extent.constant() >= kMinColumn;
  const bool is_only_dim = collapsed.num_parallel() + 1 == collapsed.domain.size();
  if (!is_long || !is_only_dim || finds_index(collapsed) || !has_columns(collapsed, work.longest)) return std::nullopt;
  if (choose_tiling(collapsed, spec).vector_dim >= collapsed.num_parallel()) return std::nullopt;
  const std::int64_t points = extent.constant();
  ReductionParts result{.dim = work.longest};
  for (std::int64_t parts = ceil_div_of(points, kMaxSumTerms); parts <= points / kMinColumnLength; ++parts) {
    if (points % parts != 0) continue;
    result.parts = parts;
    result.length = points / parts;
    return result;
  }
  result.parts = ceil_div_of(points - 1, kMaxSumTerms);
  const std::int64_t length = (points - 1) / result.parts;
  result.length = length;
  result.rest = points - length * result.parts;
  return result;
}

/// Returns nothing if the rule leaves the nest whole.
std::optional<PartsPlan> plan_parts(const LoopKernel& collapsed, const TargetSpec& spec, bool is_forced) {
  if (classify(collapsed) == LoopKind::kRows) return std::nullopt;  // later passes need the whole row's reductions
  if (collapsed.reductions.empty() || collapsed.num_parallel() == collapsed.domain.size()) return std::nullopt;
  const Work work = work_of(collapsed);
  const SizeExpr& extent = collapsed.domain[work.longest].extent;
  if (is_forced) {
    constexpr std::int64_t kForcedLength = 64, kForcedParts = 5;
    const bool is_constant = extent.is_constant();
    const std::int64_t parts =
        is_constant ? std::max<std::int64_t>(std::min(extent.constant() / kForcedLength, kCpuRule.wanted_groups), 1)
                    : kForcedParts;
    return PartsPlan{split_dim(work.longest, extent, parts, 1)};
  }
  const PartsRule& rule = spec.is_gpu() ? kGpuRule : kCpuRule;
  if (is_shared_elsewhere(collapsed, spec, work)) return std::nullopt;
  if (const auto parts = column_parts(collapsed, spec, work)) return PartsPlan{*parts};
  if (extent.upper_bound() < kMinParts * rule.part_points) return std::nullopt;
  const std::int64_t groups = num_groups(collapsed, spec);
  if (groups >= rule.few_groups || groups < 1) return std::nullopt;
  const std::int64_t terms =
      std::max<std::int64_t>(saturating::multiply(work.points, work.terms_per_index) / groups, 1);
  const std::int64_t min_length = std::max(ceil_div_of(rule.part_terms, terms), rule.part_points);
  const std::int64_t min_extent = kMinParts * min_length;
  if (extent.upper_bound() < min_extent) return std::nullopt;
  const std::int64_t wanted = ceil_div_of(rule.wanted_groups, groups);
  const std::int64_t parts = extent.is_constant() ? std::min(extent.constant() / min_length, wanted) : wanted;
  PartsPlan plan{split_dim(work.longest, extent, parts, kLengthMultiple)};
  if (extent.lower_bound() < min_extent) plan.margin = margin_of_at_least(extent, min_extent);
  return plan;
}

}  // namespace

std::vector<RequestCase> reduce_parts_cases(const KernelRequest& request, const TargetSpec& spec) {
  LoopKernel kernel = std::get<LoopKernel>(request);
  const std::optional<PartsPlan> plan = plan_parts(collapse_dims(kernel), spec, /*is_forced=*/false);
  if (!plan) return {};
  if (!always_holds(plan->margin)) kernel.name += "_long";
  return {{plan->margin, std::move(kernel)}};
}

Result<KernelSequence> lower_reduce_parts(const KernelRequest& request, const Target& target,
                                          const LowerOptions& options) {
  const auto& kernel = std::get<LoopKernel>(request);
  const LoopKernel collapsed = collapse_dims(kernel);
  const std::optional<PartsPlan> plan = plan_parts(collapsed, target.spec(), !options.force_algorithm.empty());
  if (!plan) return unimplemented("no reduction, or one with enough groups");
  MILLRACE_TRY_ASSIGN(SplitReduction split, split_reduction(collapsed, plan->parts));
  KernelSequence sequence;
  sequence.scratch = std::move(split.scratch);
  for (SplitReduction::Piece& piece : split.pieces) {
    MILLRACE_TRY(append_kernel(sequence, piece.kernel, std::move(piece.buffers), target, options));
  }
  return sequence;
}

}  // namespace millrace
