// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "jit/lanes/lane_function.h"

namespace millrace {

/// Computes a function on the host, without code: the reference of tests. Arguments are pointers and integers; an
/// appended vector is written whole, with a pattern in the lanes that are unspecified. Returns what the code returns.
std::int64_t evaluate_lanes(const LaneFunction&, std::array<std::int64_t, kMaxLaneArguments> arguments);

}  // namespace millrace
