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
  /// If set, the input is in no buffer: this map computes it, its one result, point by point. The sort's operands are
  /// the map's.
  std::optional<LoopKernel> load = {};
  std::uint32_t axis = 0;
  SizeExpr k;
  bool largest = false;  // descending
  bool sorted = true;    // false: the k results may be in any order
  /// The requested results; an absent one has no storage and no code. Indices are i64.
  std::optional<KernelTensor> values;
  std::optional<KernelTensor> indices;
};

}  // namespace millrace
