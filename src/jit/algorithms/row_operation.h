// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "millrace/jit/arg_descriptor.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/scan_descriptor.h"
#include "millrace/jit/sort_descriptor.h"

namespace millrace {

/// The kernels of a sort of long rows, in order (src/hal/host/routines/sort/long_sort.h).
enum class LongSortStep : std::uint8_t { kChooseCuts, kSplitChunks, kSortBuckets, kRestoreRuns };

/// One kernel of a long sort. Its buffers are the input, the requested results if it writes them, and its scratch.
struct LongSortKernel {
  std::string name;
  SortDescriptor sort;
  LongSortStep step = LongSortStep::kChooseCuts;
  SizeExpr num_chunks, num_buckets;  // per row
};

/// The operation of a RowKernel on each row, or on each part of a row.
struct RowOperation : std::variant<SortDescriptor, ScanDescriptor, ArgDescriptor, LongSortKernel> {
  using variant::variant;
};

template <class Operation>
RowKernel row_kernel(Operation operation) {
  std::string name = operation.name;
  return {std::move(name), std::make_shared<const RowOperation>(std::move(operation))};
}

}  // namespace millrace
