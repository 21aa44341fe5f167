// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// An argmax, or an argmin if `smallest`, along the last axis, as data: the first of equals, where -0 equals +0; NaN is
/// found before any number. Each row has one result; if it is cut into parts, each part has one.
struct ArgDescriptor {
  std::string name;
  KernelTensor input;
  bool smallest = false;
  /// The indices (i64) that elements come with, of the input's shape and layout. If absent, elements have their
  /// positions in the row.
  std::optional<KernelTensor> input_indices = std::nullopt;
  /// The parts per row, of nearly even lengths, which are multiples of 64 but for the last.
  SizeExpr parts = 1;
  /// The results, with the number of parts for the last extent, i64; and the elements found, if they are wanted, in the
  /// same layout.
  KernelTensor indices;
  std::optional<KernelTensor> values = std::nullopt;
};

}  // namespace millrace
