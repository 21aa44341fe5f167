// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// Sort or TopK along one axis, as data. Order: NaN is greatest, -0 equals +0, equal keys keep the lower index first,
/// in both directions. Values are bitwise the input's. Each row of n elements has `k` results, k <= n. If it is cut
/// into parts, each part has k results of its own, part after part.
struct SortDescriptor {
  std::string name;
  KernelTensor input;
  /// If set, the input is not in a buffer: it is the only result of this map, computed point by point. The map's
  /// operands are then the sort's.
  std::optional<LoopKernel> load = {};
  std::uint32_t axis = 0;
  SizeExpr k;
  bool largest = false;  // descending
  bool sorted = true;    // false: the k results may be in any order
  /// The index (i64) of each element, with the input's shape and layout. If absent, an element's index is its position
  /// in the row. Equal keys keep the lower position first in either case.
  std::optional<KernelTensor> input_indices = std::nullopt;
  /// The parts per row. Their lengths are nearly equal, and multiples of 64 except for the last.
  SizeExpr parts = 1;
  /// The requested results; an absent one has no storage and no code. Indices are i64.
  std::optional<KernelTensor> values;
  std::optional<KernelTensor> indices;
};

}  // namespace millrace
