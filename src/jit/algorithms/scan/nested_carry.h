// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "jit/map/sum_levels.h"
#include "millrace/jit/machine_builder.h"
#include "millrace/jit/scan_descriptor.h"

namespace millrace {

// If a single float carry sums a whole row, terms below its ulp are lost: an f32 sum of ones stops at 2^24. The carry
// of a sum therefore restarts at 0 after kMaxSumTerms steps. The sum of these steps is one term of level 1, up to
// kMaxSumTerms terms of level 1 are one term of level 2, and so on. A result is base + (carry + prefix within the
// step), where the base is the sum of the levels, from the highest down. The error is at most
//   (kMaxSumTerms * levels + 16) * eps * sum |x|, plus the rounding of the result,
// where 16 stands for the additions within a step: those of lanes, vectors and threads.

/// Whether the carries of this scan nest. True for float sums only.
bool has_nested_carry(const ScanDescriptor&);

/// The number of levels above the carry, for at most `max_steps` steps; 0 if a single carry is enough.
int num_carry_levels(const ScanDescriptor&, std::int64_t max_steps);

struct CarriedLoop {
  MachineValue first, end, step;  // i64
  int levels = 0;
  MachineValue identity;
  std::optional<MachineValue> base = std::nullopt;  // the total before the first step, kept separate from the carry
};

/// Returns the carry after the step at `at`, given the carry before it. If there is a base, the total before the step
/// is `base + carry`.
using CarriedStep =
    std::function<MachineValue(MachineValue at, const std::optional<MachineValue>& base, MachineValue carry)>;

/// Calls `body` for each step from `first` to `end`. Returns the total of all steps, without the base.
MachineValue emit_carried_loop(MachineBuilder& b, const CarriedLoop& loop, const CarriedStep& body);

}  // namespace millrace
