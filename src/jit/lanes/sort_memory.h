// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/sort_keys.h"
#include "millrace/hal/target_spec.h"
#include "millrace/jit/sort_descriptor.h"

namespace millrace {

/// The maximum length of rows whose indices fit the index bits of a lane.
inline constexpr std::int64_t kMaxIndexedByLanes = (std::int64_t{1} << 32) - 1;

/// Whether the routine topk_rows can run the sort: k is small, and rows are much longer than k but not too long.
bool selects_first(const SortDescriptor&);
/// The maximum k of topk_rows: kMaxSelected for long rows; max_selected() for the rows of this sort, which may be
/// shorter.
inline constexpr std::int64_t kMaxSelected = 8192;
SizeExpr max_selected(const SortDescriptor&);

/// The maximum length of rows for topk_rows. Rows that are not contiguous must be short enough for a ColumnBlock.
std::int64_t longest_selected(const SortDescriptor&);

/// Whether a heap is faster than lanes, which would sort all elements: k is small, and rows are not contiguous and too
/// long for a ColumnBlock.
bool leaves_to_heap(const SortDescriptor&);

/// The keys that the lanes of a sort hold.
LaneKeys lane_keys_of(const SortDescriptor&);

/// The maximum number of keys in memory at a time. If a CountingSort sorts the rows, this is the size of its memory, in
/// keys.
std::int64_t max_keys(const SortDescriptor&);
/// The bytes of a row's two arrays of keys.
SizeExpr lane_key_bytes(const SortDescriptor&);

/// The bytes of workgroup memory for interleaved rows, in addition to the routine's other memory; 0 if they are read in
/// place.
std::int64_t column_bytes(const SortDescriptor&, const TargetSpec&);

/// Whether the keys fit workgroup memory. If not, the kernel's last buffer is scratch with lane_key_bytes() per row.
bool keys_fit_workgroup(const SortDescriptor&, const TargetSpec&);
/// The bytes of workgroup memory for keys. If the keys of every row fit, this is enough for all rows. Otherwise it is
/// enough for rows that turn out to be short, or 0 if rows are moved into a ColumnBlock. Keys in workgroup memory stay
/// in the L2 cache from row to row.
std::int64_t workgroup_key_bytes(const SortDescriptor&, const TargetSpec&);

}  // namespace millrace
