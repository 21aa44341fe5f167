// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// Describes a sort or TopK along one axis. Order: NaN is greatest, -0 equals +0, and of equal keys the one with the
/// lower position comes first, even in descending order. Values keep the input's bits. Each row of n elements has `k`
/// results, k <= n. If a row is cut into parts, each part has k results, and these follow each other.
struct SortDescriptor {
  std::string name;
  KernelTensor input;
  /// If set, the input is not in a buffer, but is computed point by point: it is the only result of this map. The map's
  /// operands then replace the input as operands of the sort.
  std::optional<LoopKernel> load = {};
  std::uint32_t axis = 0;
  SizeExpr k;
  bool largest = false;  // descending
  bool sorted = true;    // false: the k results may be in any order
  /// The index (i64) of each element, with the input's shape and layout. If absent, an element's index is its position
  /// in the row. Equal keys keep the lower position first in either case.
  std::optional<KernelTensor> input_indices = std::nullopt;
  /// The number of parts per row. Parts have nearly equal lengths, which are multiples of 64 except for the last part.
  SizeExpr parts = 1;
  /// The requested results; an absent one has no storage and no code. Indices are i64.
  std::optional<KernelTensor> values;
  std::optional<KernelTensor> indices;
};

}  // namespace millrace
