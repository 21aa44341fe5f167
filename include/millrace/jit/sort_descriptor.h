// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// Sort or TopK along one axis, as data. Order: NaN is greatest, -0 equals +0, equal keys keep the lower index first,
/// in both directions. Values are bitwise the input's. Each row has `k` results, k <= n.
struct SortDescriptor {
  std::string name;
  KernelTensor input;
  std::uint32_t axis = 0;
  SizeExpr k;
  bool largest = false;  // descending
  bool sorted = true;    // false: the k results may be in any order
  /// The requested results; an absent one has no storage and no code. Indices are i64.
  std::optional<KernelTensor> values;
  std::optional<KernelTensor> indices;
};

/// The kernels of a sort of long rows, in order (src/hal/host/routines/long_sort.h).
enum class LongSortStep : std::uint8_t { kChooseCuts, kSplitChunks, kSortBuckets, kRestoreRuns };

/// One of them. Its buffers are the input, the requested results if it writes them, and the scratch that it uses.
struct LongSortKernel {
  std::string name;
  SortDescriptor sort;
  LongSortStep step = LongSortStep::kChooseCuts;
  SizeExpr num_chunks, num_buckets;  // per row
};

}  // namespace millrace
