// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// An argmax, or an argmin if `smallest`, along the last axis, as data: the first of equals, where -0 equals +0; NaN is
/// found before any number. Each row has one result; if it is cut into parts, each part has one. A row is contiguous,
/// or its elements are s apart and s such rows interleave.
struct ArgDescriptor {
  std::string name;
  KernelTensor input;
  bool smallest = false;
  /// The index (i64) of each element, with the input's shape and layout. If absent, an element's index is its position
  /// in the row.
  std::optional<KernelTensor> input_indices = std::nullopt;
  /// The parts per row. Their lengths are nearly equal, and multiples of 64 except for the last.
  SizeExpr parts = 1;
  /// The results (i64), whose last extent is the number of parts; and, if requested, the elements found, in the same
  /// layout.
  KernelTensor indices;
  std::optional<KernelTensor> values = std::nullopt;
};

}  // namespace millrace
