// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/even_split.h"

namespace millrace {

/// A row cut into parts of nearly even lengths. Each part begins a multiple of kMultiple elements after the row's
/// start, so that it is aligned like the row; the last part has the rest.
struct RowParts {
  static constexpr std::int64_t kMultiple = 64;
  std::int64_t n = 0, parts = 1;

  std::int64_t start(std::int64_t part) const {
    const std::int64_t multiples = n / kMultiple;
    return EvenSplit{parts, multiples / parts, multiples % parts}.start(part) * kMultiple;
  }
  std::int64_t end(std::int64_t part) const { return part + 1 == parts ? n : start(part + 1); }
  std::int64_t size(std::int64_t part) const { return end(part) - start(part); }
};

}  // namespace millrace
