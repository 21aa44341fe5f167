// SPDX-License-Identifier: Apache-2.0
// Plans the kernels of a sort of long rows, and emits their images.
#include <fmt/format.h>

#include "hal/host/routines/sort/long_sort.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/sort/long_sort_steps.h"
#include "jit/lanes/sort_memory.h"
#include "jit/lanes/sort_microkernels.h"
#include "jit/xbyak/lane_image.h"
#include "jit/xbyak/row_kernels.h"
#include "jit/xbyak/row_plan.h"
#include "jit/xbyak/sort_kernel.h"

namespace millrace {
namespace {

struct StepCode {
  Routine routine;
  SortFunctions functions;
};
constexpr StepCode kSteps[] = {
    {Routine::choose_cuts, {.keys = true, .sorter = true}},
    {Routine::split_chunks, {.keys = true, .splits = true, .sorter = true}},
    {Routine::sort_buckets, {.sorter = true, .results = true}},
    {Routine::restore_runs, {.runs = true}},
};
const StepCode& code_of(LongSortStep step) { return kSteps[static_cast<std::size_t>(step)]; }

SizeExpr num_groups_of(const LongSortKernel& kernel) {
  const SizeExpr rows = num_rows(kernel.sort.input.type.shape, kernel.sort.axis);
  if (kernel.step == LongSortStep::kSplitChunks) return rows * kernel.num_chunks;
  if (kernel.step == LongSortStep::kSortBuckets) return rows * kernel.num_buckets;
  return rows;
}

Result<ExecutableImage> emit_long_sort(const LongSortKernel& kernel, const TargetSpec& spec) {
  const StepCode& code = code_of(kernel.step);
  const bool has_results = buffers_of(kernel.step).has_results;
  return emit_lane_image(spec.isa, [&](const MicrokernelSink& sink) {
    SortRowsParameters p = sort_parameters(kernel.sort);
    p.has_values = has_results && p.has_values;
    p.has_indices = has_results && p.has_indices;
    p.writes_sorted = code.functions.sorter && code.functions.results && writes_sorted(kernel.sort);
    append_sort(p, sink, lane_keys_of(kernel.sort), code.functions);
    return call_of(code.routine, p);
  });
}

}  // namespace

Result<PlannedKernel> plan_row_operation(const LongSortKernel& kernel, const TargetSpec& spec) {
  const SortDescriptor& sort = kernel.sort;
  const LongSortBuffers& used = buffers_of(kernel.step);
  MILLRACE_TRY(check_lanes_sort(sort, spec));
  std::vector<bool> buffer_is_written = {false};
  for (const bool has_result : {sort.values.has_value(), sort.indices.has_value()}) {
    if (used.has_results && has_result) buffer_is_written.push_back(true);
  }
  for (std::uint32_t i = 0; i < used.num_scratch; ++i) {
    buffer_is_written.push_back(i >= used.first_written_scratch);
  }
  std::vector<SizeExpr> sizes = size_arguments_of(sort);
  const std::size_t num_dims = (sizes.size() - SortRowsSizes::kDims) / SortRowsSizes::kPerDim;
  sizes.insert(sizes.end(), {kernel.num_chunks, kernel.num_buckets});
  PlannedKernel planned =
      plan_routine(kernel.name, num_groups_of(kernel), std::move(sizes), std::move(buffer_is_written));
  add_slot(planned, "sample", RowSorterMemory::kSampleBytes);
  add_slot(planned, "counts", RowSorterMemory::kCountBytes);
  add_slot(planned, "keys", 2 * LongSort::kPartBytes);
  const LaneKeys keys = lane_keys_of(sort);
  planned.key_text = fmt::format(
      "{} {} lanes of {} largest {} keys with index {} values {} indices {} all {} dims {} written when sorted {}\n",
      row_of(code_of(kernel.step).routine).name, to_text(keys.dtype), keys.lane_bits(), keys.largest, keys.with_index,
      sort.values.has_value(), sort.indices.has_value(), !selects_first(sort), num_dims, writes_sorted(sort));
  planned.mapped = OpaquePlan{[kernel](const TargetSpec& target) { return emit_long_sort(kernel, target); }};
  return planned;
}

}  // namespace millrace
