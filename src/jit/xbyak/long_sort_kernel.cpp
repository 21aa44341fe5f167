// SPDX-License-Identifier: Apache-2.0
#include "jit/xbyak/long_sort_kernel.h"

#include <fmt/format.h>

#include "hal/host/routines/long_sort.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/sort/long_sort_steps.h"
#include "jit/lanes/row_dims.h"
#include "jit/lanes/sort_memory.h"
#include "jit/xbyak/lane_image.h"
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
  const bool has_results = binding_of(kernel.step).has_results;
  return emit_lane_image([&](LaneAssembler& assembler) {
    SortRowsParameters p = emit_sort_functions(kernel.sort, spec, code.functions, assembler);
    p.has_values = has_results && p.has_values;
    p.has_indices = has_results && p.has_indices;
    p.most_workgroup_key_bytes = p.uses_scratch = 0;
    return call_of(code.routine, p);
  });
}

}  // namespace

Result<PlannedKernel> plan_rows_work(const LongSortKernel& kernel, const TargetSpec& spec) {
  const SortDescriptor& sort = kernel.sort;
  const LongSortBinding& binding = binding_of(kernel.step);
  MILLRACE_TRY(check_lanes_sort(sort, spec));
  PlannedKernel planned;
  planned.name = kernel.name;
  planned.generator = "xbyak";
  planned.num_groups = num_groups_of(kernel);
  planned.sizes = size_arguments_of(sort);
  planned.sizes.insert(planned.sizes.end(), {kernel.num_chunks, kernel.num_buckets});
  planned.memory.slots = {
      {"sample", MemoryKind::kWorkgroup, 0, RowSorterMemory::kSampleBytes, 0, 0},
      {"counts", MemoryKind::kWorkgroup, RowSorterMemory::kSampleBytes, RowSorterMemory::kCountBytes, 0, 0},
      {"keys", MemoryKind::kWorkgroup, SortRowsParameters::kFixedBytes, 2 * LongSort::kPartBytes, 0, 0}};
  planned.memory.workgroup_bytes = LongSort::kWorkgroupBytes;
  planned.info.name = kernel.name;
  planned.info.buffer_is_written = {false};
  for (const bool has_result : {sort.values.has_value(), sort.indices.has_value()}) {
    if (binding.has_results && has_result) planned.info.buffer_is_written.push_back(true);
  }
  for (std::uint32_t i = 0; i < binding.num_scratch; ++i) {
    planned.info.buffer_is_written.push_back(i >= binding.first_written_scratch);
  }
  planned.info.num_buffers = static_cast<std::uint32_t>(planned.info.buffer_is_written.size());
  planned.info.num_sizes = static_cast<std::uint32_t>(planned.sizes.size());
  planned.info.workgroup_bytes = planned.memory.workgroup_bytes;
  const LaneKeys keys = lane_keys_of(sort);
  planned.key_text =
      fmt::format("{} {} lanes of {} largest {} keys with index {} values {} indices {} all {} dims {} {}\n",
                  row_of(code_of(kernel.step).routine).name, to_text(keys.dtype), keys.lane_bits(), keys.largest,
                  keys.with_index, sort.values.has_value(), sort.indices.has_value(), !selects_first(sort),
                  row_dims(sort).size(), results_text(sort));
  planned.mapped = KernelDesign{[kernel](const TargetSpec& target) { return emit_long_sort(kernel, target); }};
  return planned;
}

}  // namespace millrace
