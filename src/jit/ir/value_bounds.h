// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/base/saturating.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// A scalar of i32 or i64 is always in [minimum, maximum]. Other values have no bounds.
struct ValueBounds {
  std::int64_t minimum = saturating::kMin, maximum = saturating::kMax;
  friend bool operator==(const ValueBounds&, const ValueBounds&) = default;
};

/// Bounds that follow from constants, workgroup and thread ids, and loop bounds. Carried values, size arguments and
/// values loaded from memory have only the bounds of their dtype. O(instructions). Precondition: verify() passed.
IdVector<MachineValueId, ValueBounds> find_value_bounds(const MachineKernel&);

}  // namespace millrace
