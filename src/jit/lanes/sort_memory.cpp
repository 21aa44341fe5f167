// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/sort_memory.h"

#include "hal/host/routines/sort_rows.h"
#include "millrace/jit/memory_plan.h"

namespace millrace {

namespace {

/// Below these row lengths, a multiple of k and for each k, sorting is as fast.
constexpr std::int64_t kFewestTimesK = 8, kFewestTimesFewK = 4;
constexpr std::int64_t kFewK = 32, kFewestElements = 1024, kFewestElementsForFewK = 48;

}  // namespace

bool selects_first(const SortDescriptor& sort) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const bool is_contiguous = sort.load || sort.input.layout.strides[sort.axis].is(1);
  if (sort.k.upper_bound() > kMostSelected || !is_contiguous) return false;
  // A row of any length may be long. A sort of it is none of a few.
  if (!n.is_constant()) return n != sort.k;
  const bool is_few = sort.k.upper_bound() <= kFewK;
  return n.constant() >= (is_few ? kFewestElementsForFewK : kFewestElements) &&
         n.constant() >= (is_few ? kFewestTimesFewK : kFewestTimesK) * sort.k.upper_bound();
}

LaneKeys lane_keys_of(const SortDescriptor& sort) {
  return {sort.input.type.dtype, sort.largest, sort.indices.has_value() || selects_first(sort)};
}

SizeExpr lane_key_bytes(const SortDescriptor& sort) {
  return sort.input.type.shape[sort.axis] * (2 * lane_keys_of(sort).lane_bits() / 8);
}

bool keys_fit_workgroup(const SortDescriptor& sort, const TargetSpec& spec) {
  if (selects_first(sort)) return true;
  const SizeExpr bytes = lane_key_bytes(sort) + SortRowsParameters::kFixedBytes;
  return bytes.upper_bound() <= static_cast<std::int64_t>(memory_limits(spec).workgroup_bytes);
}

}  // namespace millrace
