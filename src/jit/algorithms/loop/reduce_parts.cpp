// SPDX-License-Identifier: Apache-2.0
// Few long reductions: a kernel reduces each part of them, another one the results, so that threads or a GPU share
// them. The parts depend on the sizes and the target alone, so results do not depend on the number of threads.
#include <algorithm>

#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/loop/split_reduction.h"
#include "jit/algorithms/size_margin.h"
#include "jit/lanes/match_arg.h"
#include "jit/map/gpu_mapping.h"
#include "jit/map/nest.h"
#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// The rule. A nest with fewer groups than `few_groups` is cut along its longest reduction dim, into parts of at least
/// `part_terms` terms and `part_points` points of that dim, until it has `wanted_groups` or more. It is left whole if
/// there would be one part only.
struct PartsRule {
  std::int64_t few_groups, wanted_groups, part_terms, part_points;
};
/// A part takes one core 15 us or more; a call between kernels takes less than 1.
constexpr PartsRule kCpuRule{
    .few_groups = 16, .wanted_groups = 64, .part_terms = std::int64_t{1} << 17, .part_points = 512};
/// A workgroup of 256 threads has 16 terms or more for each, and a tile of a product as many steps as its sums take;
/// large GPUs have 96 compute units and more.
constexpr PartsRule kGpuRule{
    .few_groups = 96, .wanted_groups = 256, .part_terms = std::int64_t{1} << 12, .part_points = 512};
constexpr PartsRule kForcedRule{.few_groups = 0, .wanted_groups = 64, .part_terms = 64, .part_points = 1};
/// A product with more results has blocks and tiles of its own to share.
constexpr std::int64_t kMostProducts = 16;
/// Whole vectors, so that only the last part has a remainder.
constexpr std::int64_t kLengthMultiple = 64;

std::int64_t ceil_div_of(std::int64_t value, std::int64_t unit) { return value / unit + (value % unit != 0); }

/// The groups of the nest as it is, at most.
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
  SizeExpr margin = 1;  // of the sizes for which it is worth it
};

/// The number of parts next to `wanted` that divides `extent`, if there is one.
std::int64_t even_parts(std::int64_t extent, std::int64_t wanted) {
  for (std::int64_t more = 0; more <= wanted / 2; ++more) {
    for (const std::int64_t parts : {wanted + more, wanted - more}) {
      if (parts > 1 && extent % parts == 0) return parts;
    }
  }
  return wanted;
}

/// Empty if the nest has groups enough, or too little work, or if lanes find the argmax (lane_arg_parts.cpp).
std::optional<PartsPlan> plan_parts(const LoopKernel& collapsed, const TargetSpec& spec, bool is_forced) {
  if (collapsed.reductions.empty() || collapsed.num_parallel() == collapsed.domain.size()) return std::nullopt;
  const PartsRule& rule = is_forced ? kForcedRule : spec.is_gpu() ? kGpuRule : kCpuRule;
  std::int64_t points = 1, terms_beside = 1;
  std::size_t longest = collapsed.num_parallel();
  for (std::size_t d = 0; d < collapsed.domain.size(); ++d) {
    const LoopDim& dim = collapsed.domain[d];
    if (!dim.is_reduction) {
      points = saturating::multiply(points, dim.extent.upper_bound());
    } else if (dim.extent.upper_bound() > collapsed.domain[longest].extent.upper_bound()) {
      longest = d;
    }
  }
  for (std::size_t d = collapsed.num_parallel(); d < collapsed.domain.size(); ++d) {
    const SizeExpr& extent = collapsed.domain[d].extent;
    if (d != longest && extent.is_constant()) terms_beside = saturating::multiply(terms_beside, extent.constant());
  }
  const SizeExpr& extent = collapsed.domain[longest].extent;
  std::int64_t groups = 1;
  if (!is_forced) {
    if (saturating::multiply(saturating::multiply(points, terms_beside), extent.upper_bound()) < 2 * rule.part_terms) {
      return std::nullopt;
    }
    if (!spec.is_gpu() && classify(collapsed) == LoopKind::kContract && points > kMostProducts) return std::nullopt;
    if (!spec.is_gpu() && spec.isa != IsaLevel::kBaseline && is_argmax(collapsed) && match_arg(collapsed).ok())
      return std::nullopt;
    groups = num_groups(collapsed, spec);
    if (groups >= rule.few_groups || groups < 1) return std::nullopt;
  }
  // Points along the dim that have `part_terms` terms, over all parallel points of a group.
  const std::int64_t terms_of_point = std::max<std::int64_t>(saturating::multiply(points, terms_beside) / groups, 1);
  const std::int64_t least = std::max(ceil_div_of(rule.part_terms, terms_of_point), rule.part_points);
  if (extent.upper_bound() < 2 * least && !is_forced) return std::nullopt;
  PartsPlan plan{{.dim = longest}};
  plan.margin = is_forced || extent.lower_bound() >= 2 * least ? SizeExpr(1) : margin_of_at_least(extent, 2 * least);
  const std::int64_t most = ceil_div_of(rule.wanted_groups, groups);
  ReductionParts& parts = plan.parts;
  if (extent.is_constant()) {
    const std::int64_t wanted = std::clamp<std::int64_t>(extent.constant() / least, 1, most);
    parts.parts = even_parts(extent.constant(), wanted);
  } else {
    parts.parts = max(min(floor_div(extent, least), most), 1);
  }
  parts.length = ceil_div(extent, parts.parts);
  if ((parts.parts * parts.length - extent).is(0)) return plan;
  if (least >= kLengthMultiple) parts.length = ceil_div(parts.length, kLengthMultiple) * kLengthMultiple;
  parts.parts = max(ceil_div(extent, max(parts.length, 1)), 1);
  return plan;
}

}  // namespace

std::vector<RequestCase> reduce_parts_cases(const KernelRequest& request, const TargetSpec& spec) {
  LoopKernel kernel = std::get<LoopKernel>(request);
  if (!verify(kernel).ok()) return {};
  const std::optional<PartsPlan> plan = plan_parts(collapse_dims(kernel), spec, /*is_forced=*/false);
  if (!plan) return {};
  if (!always_holds(plan->margin)) kernel.name += "_long";
  return {{plan->margin, std::move(kernel)}};
}

Result<KernelSequence> lower_reduce_parts(const KernelRequest& request, const Target& target,
                                          const LowerOptions& options) {
  const auto& kernel = std::get<LoopKernel>(request);
  MILLRACE_TRY(verify(kernel));
  const LoopKernel collapsed = collapse_dims(kernel);
  const std::optional<PartsPlan> plan = plan_parts(collapsed, target.spec(), !options.force_algorithm.empty());
  if (!plan) return unimplemented("no reduction, or one that has groups enough");
  MILLRACE_TRY_ASSIGN(SplitReduction split, split_reduction(collapsed, plan->parts));
  KernelSequence sequence;
  sequence.scratch = std::move(split.scratch);
  for (SplitReduction::Piece* piece : {&split.parts, &split.join}) {
    MILLRACE_TRY(append_kernel(sequence, piece->kernel, std::move(piece->buffers), target, options));
  }
  return sequence;
}

}  // namespace millrace
