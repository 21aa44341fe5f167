// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// Describes an argmax, or an argmin if `smallest`, along the last axis. A NaN wins over any number, -0 equals +0, and
/// of equal elements the first one wins. Each row has one result, or one per part if the row is cut into parts. A row
/// is contiguous, or s rows are interleaved, so that the elements of each are s apart.
struct ArgDescriptor {
  std::string name;
  KernelTensor input;
  bool smallest = false;
  /// The index (i64) of each element, with the input's shape and layout. If absent, an element's index is its position
  /// in the row.
  std::optional<KernelTensor> input_indices = std::nullopt;
  /// The number of parts per row. Parts have nearly equal lengths, which are multiples of 64 except for the last part.
  SizeExpr parts = 1;
  /// The resulting indices (i64), whose last extent is the number of parts, and, if requested, the elements at these
  /// indices, in the same layout.
  KernelTensor indices;
  std::optional<KernelTensor> values = std::nullopt;
};

}  // namespace millrace
