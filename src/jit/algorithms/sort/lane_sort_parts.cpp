// SPDX-License-Identifier: Apache-2.0
// Sorts long rows with vector instructions. A sequence of kernels divides a row into buckets, whose bounds come from a
// sample (src/hal/host/routines/sort/long_sort.h), so that several threads can share the row.
#include <fmt/format.h>

#include "hal/host/routines/sort/long_sort.h"
#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/size_margin.h"
#include "jit/algorithms/sort/lane_sort.h"
#include "jit/algorithms/sort/long_sort_steps.h"
#include "jit/lanes/sort_memory.h"

namespace millrace {
namespace {

/// The minimum length of a row that several kernels sort, so that threads can share it (commit 19de1563).
constexpr std::int64_t kMinElements = 256 << 10;

/// Whether the sort must order all keys. If not, one kernel is faster at any length: it selects the first k, or counts
/// narrow values.
bool sorts_keys(const SortDescriptor& sort) {
  return !selects_first(sort) && (size_bytes(sort.input.type.dtype) > 2 || sort.indices);
}

constexpr LongSortStep kSteps[] = {LongSortStep::kChooseCuts, LongSortStep::kSplitChunks, LongSortStep::kSortBuckets,
                                   LongSortStep::kRestoreRuns};

bool is_needed(LongSortStep step, const LaneKeys& keys) {
  return step != LongSortStep::kRestoreRuns || (is_float(keys.dtype) && !keys.with_index);
}

std::vector<SequenceOperand> buffers_of(const LongSortBuffers& binding, const SortDescriptor& sort) {
  std::vector<SequenceOperand> buffers = operands_then_results(1, binding.has_results ? num_results(sort) : 0);
  for (std::uint32_t i = 0; i < binding.num_scratch; ++i) buffers.push_back({SequenceOperand::Kind::kScratch, i});
  return buffers;
}

}  // namespace

std::vector<RequestCase> lane_sort_parts_cases(const KernelRequest& request, const TargetSpec&) {
  const auto& sort = std::get<SortDescriptor>(request);
  if (!sorts_keys(sort) || leaves_to_heap(sort)) return {};
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  SizeExpr is_long = margin_of_at_least(n, kMinElements);
  if (sort.k != n) is_long = margin_of_both(is_long, margin_of_not(margin_of_selected(sort)));
  if (!sort.indices) return {sort_case(is_long, sort, {}, "_parts")};
  const SizeExpr margin = margin_of_both(is_long, margin_of_at_most(n, kMaxIndexedByLanes));
  return {sort_case(margin, sort, {.n = kMaxIndexedByLanes}, "_parts")};
}

Result<KernelSequence> lower_lane_sort_parts(const KernelRequest& request, const Target& target,
                                             const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (options.force_algorithm.empty() && n.upper_bound() < kMinElements) {
    return unimplemented(
        fmt::format("rows of {} elements, expected at least {} to pay off", n.to_text(), kMinElements));
  }
  const LaneKeys keys = lane_keys_of(sort);
  const std::int64_t key_bytes = keys.lane_bits() / 8;
  const SizeExpr rows = num_rows(sort.input.type.shape, sort.axis);
  const SizeExpr few_chunks = min(ceil_div(n, LongSort::part_keys(keys.with_index)), LongSort::kFewChunks);
  const SizeExpr num_chunks = max(few_chunks, ceil_div(n, LongSort::kPartBytes / key_bytes));
  const SizeExpr num_buckets = min(ceil_div(n, LongSort::part_keys(keys.with_index)), LongSort::kMaxBuckets);
  KernelSequence sequence;
  sequence.scratch = {{"cuts", rows * LongSort::kCutBytes},
                      {"starts", rows * num_chunks * (num_buckets + LongSort::kExtraStarts) * 4},
                      {"chunk_keys", rows * n * key_bytes},
                      {"bucket_keys", rows * n * (2 * key_bytes)}};
  for (const LongSortStep step : kSteps) {
    if (!is_needed(step, keys)) continue;
    const LongSortBuffers& binding = buffers_of(step);
    const LongSortKernel kernel = {sort.name + std::string(binding.suffix), sort, step, num_chunks, num_buckets};
    MILLRACE_TRY(append_kernel(sequence, row_kernel(kernel), buffers_of(binding, sort), target, options));
  }
  return sequence;
}

}  // namespace millrace
