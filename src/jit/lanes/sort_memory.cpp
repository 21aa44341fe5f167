// SPDX-License-Identifier: Apache-2.0
// Decides which sorts and TopKs use SIMD lanes, and how much memory each needs.
#include "jit/lanes/sort_memory.h"

#include <limits>

#include "hal/host/routines/sort/column_block.h"
#include "hal/host/routines/topk/topk_rows.h"
#include "millrace/jit/memory_plan.h"

namespace millrace {

namespace {

/// Selection is faster than sorting for rows with at least kMinElements and kMinTimesK * k elements. For k up to kFewK,
/// the bounds are kMinElementsForFewK and kMinTimesFewK * k.
constexpr std::int64_t kMinTimesK = 8, kMinTimesFewK = 4;
constexpr std::int64_t kFewK = 32, kMinElements = 1024, kMinElementsForFewK = 48;
/// Workgroup memory for the keys of short rows, if the length of rows is symbolic. Longer rows use scratch, because
/// their keys do not fit the L2 cache.
constexpr std::int64_t kShortKeyBytes = 256 << 10;
constexpr std::int64_t kManyK = RowSelector<std::int64_t>::kMaxByGroups, kMinTimesManyK = 64;

constexpr std::int64_t kAlignment = 64;  // the alignment of the memory after the block

/// The bytes from one row of a ColumnBlock to the next.
std::int64_t pitch_of(std::int64_t length, DType dtype) {
  constexpr std::int64_t kMax = std::int64_t{1} << 40;  // so that sums do not wrap
  return ColumnBlock::pitch_bytes(std::min(length, kMax), static_cast<std::int64_t>(size_bytes(dtype)));
}

/// The bytes of a ColumnBlock (src/hal/host/routines/sort/column_block.h) for rows of the input, and for rows of the
/// results if `moves_results`. 0 if all rows are contiguous, or if no row fits `max`.
std::int64_t column_block_bytes(const SortDescriptor& sort, bool moves_results, std::int64_t max) {
  const KernelTensor* const tensors[] = {&sort.input, sort.values ? &*sort.values : nullptr,
                                         sort.indices ? &*sort.indices : nullptr};
  std::int64_t min_bytes = 0, max_bytes = 0;  // bounds of the bytes that one row of each tensor needs
  for (std::size_t i = 0; i < (moves_results ? std::size(tensors) : 1); ++i) {
    if (tensors[i] == nullptr || tensors[i]->layout.strides[sort.axis].is(1)) continue;
    const SizeExpr& length = tensors[i]->type.shape[sort.axis];
    min_bytes += pitch_of(length.lower_bound(), tensors[i]->type.dtype);
    max_bytes += pitch_of(length.upper_bound(), tensors[i]->type.dtype);
  }
  if (min_bytes > max) return 0;
  const auto element_bytes = static_cast<std::int64_t>(size_bytes(sort.input.type.dtype));
  return std::min(max / kAlignment * kAlignment, max_bytes * ColumnBlock::max_columns(element_bytes));
}

}  // namespace

std::int64_t longest_selected(const SortDescriptor& sort) {
  if (sort.load || sort.input.layout.strides[sort.axis].is(1)) return kMaxIndexedByLanes;
  if (sort.input_indices) return 0;  // rows stay in place: given indices are read at the elements' offsets
  const auto element_bytes = static_cast<std::int64_t>(size_bytes(sort.input.type.dtype));
  return ColumnBlock::longest_row(TopkRowsMemory::kMaxColumnBytes, element_bytes);
}

SizeExpr max_selected(const SortDescriptor& sort) {
  return max(min(floor_div(sort.input.type.shape[sort.axis], kMinTimesManyK), kMaxSelected), kManyK);
}

bool selects_first(const SortDescriptor& sort) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (sort.k.upper_bound() > max_selected(sort).upper_bound()) return false;
  const bool is_contiguous = sort.load || sort.input.layout.strides[sort.axis].is(1);
  if (!is_contiguous && n.upper_bound() > longest_selected(sort)) return false;
  // A row of symbolic length may be long, so select from it, unless k is its whole length.
  if (!n.is_constant()) return n != sort.k;
  const std::int64_t max_k = sort.k.upper_bound();
  const bool is_few = max_k <= kFewK;
  return n.constant() >= (is_few ? kMinElementsForFewK : kMinElements) &&
         n.constant() >= (is_few ? kMinTimesFewK : kMinTimesK) * max_k;
}

bool leaves_to_heap(const SortDescriptor& sort) {
  // The maximum k for a heap. In an ascending row each element may replace the heap's root, which takes log2(k) steps;
  // a sort takes the same time for any row.
  constexpr std::int64_t kMaxInHeap = 64;
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const bool is_contiguous = sort.load || sort.input.layout.strides[sort.axis].is(1);
  return !is_contiguous && !sort.input_indices && sort.k.is_constant() && sort.k.constant() <= kMaxInHeap &&
         n.upper_bound() > longest_selected(sort);
}

LaneKeys lane_keys_of(const SortDescriptor& sort) {
  LaneKeys keys = {sort.input.type.dtype, sort.largest, sort.indices.has_value() || selects_first(sort)};
  keys.has_short_index = keys.with_index && size_bytes(keys.dtype) <= 2 && !selects_first(sort) &&
                         sort.input.type.shape[sort.axis].upper_bound() <= LaneKeys::kMaxShortIndices;
  return keys;
}

std::int64_t max_keys(const SortDescriptor& sort) {
  const LaneKeys keys = lane_keys_of(sort);
  const auto element_bytes = static_cast<std::int64_t>(size_bytes(keys.dtype));
  const bool is_counted = element_bytes <= 2 && !keys.with_index;
  return is_counted ? CountingSort::max_keys(element_bytes) : std::numeric_limits<std::int64_t>::max();
}

SizeExpr lane_key_bytes(const SortDescriptor& sort) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  // At least n if rows are too long for a CountingSort, otherwise 0. It is linear in n, so that the expression stays
  // short if n has many terms.
  constexpr std::int64_t kMinLonger = CountingSort::kMaxElements + 1;
  const SizeExpr all_of_longer = floor_div(n, kMinLonger) * (2 * kMinLonger);
  const std::int64_t max = max_keys(sort);
  const bool is_limited = max < n.upper_bound();
  return (is_limited ? min(n, max + all_of_longer) : n) * (2 * lane_keys_of(sort).lane_bits() / 8);
}

bool keys_fit_workgroup(const SortDescriptor& sort, const TargetSpec& spec) {
  if (selects_first(sort)) return true;
  const SizeExpr bytes = lane_key_bytes(sort) + SortRowsParameters::kFixedBytes;
  return bytes.upper_bound() <= static_cast<std::int64_t>(memory_limits(spec).workgroup_bytes);
}

std::int64_t workgroup_key_bytes(const SortDescriptor& sort, const TargetSpec& spec) {
  if (selects_first(sort)) return 0;
  if (keys_fit_workgroup(sort, spec)) return lane_key_bytes(sort).upper_bound();
  const bool may_be_short = !sort.input.type.shape[sort.axis].is_constant();
  return may_be_short && column_bytes(sort, spec) == 0 ? kShortKeyBytes : 0;
}

std::int64_t column_bytes(const SortDescriptor& sort, const TargetSpec& spec) {
  if (sort.input_indices || sort.load) return 0;
  if (selects_first(sort)) return column_block_bytes(sort, false, TopkRowsMemory::kMaxColumnBytes);
  std::int64_t used = SortRowsParameters::kFixedBytes;
  if (keys_fit_workgroup(sort, spec)) used += lane_key_bytes(sort).upper_bound();
  return column_block_bytes(sort, true, static_cast<std::int64_t>(memory_limits(spec).workgroup_bytes) - used);
}

}  // namespace millrace
