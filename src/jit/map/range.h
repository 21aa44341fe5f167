// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "jit/ir/linear_value.h"

namespace millrace {

/// The points of one dim that a loop traverses, from `lower`.
struct MapRange {
  LinearValue lower;
  std::optional<std::int64_t> size;   // set if the size is the same in every group
  std::optional<MachineValue> upper;  // set if the size is known only at run time
  std::int64_t multiple = 1;          // a known divisor of the size
};

/// The range of a whole dim.
MapRange whole_range(MachineBuilder& b, const SizeExpr& extent);

using RangeValues = MachineBuilder::Values;

/// The arguments of MachineBuilder::for_loop, except the carried values.
struct MapLoop {
  MachineValue lower, upper, step;
  std::function<RangeValues(MachineValue index, const RangeValues& carried)> body;
};

struct RangeSteps {
  std::int64_t tile = 1;  // points of a main step
  std::int64_t tail = 1;  // points of a remainder step
  /// Emits a main step at `index`, and returns the new carried values.
  std::function<RangeValues(const LinearValue& index, const RangeValues& carried)> main_step;
  /// Emits a remainder step of min(tail, remaining) points. `remaining` is empty if the step always has `tail` points.
  /// The function is not called if tile == tail == 1.
  std::function<RangeValues(const LinearValue& index, std::optional<MachineValue> remaining,
                            const RangeValues& carried)>
      tail_step;
  /// Emits the loop over several main steps. If empty, a plain loop is emitted.
  std::function<RangeValues(const MapLoop&, const RangeValues& carried)> main_loop;
};

/// Emits loops over the range: main steps of `tile` points, then tail steps for the remainder. If the size or a
/// multiple is known, leaves out loops and remainders that cannot occur, and the mask if no step is partial.
RangeValues emit_range(MachineBuilder& b, const MapRange& range, const RangeSteps& steps, RangeValues carried);

}  // namespace millrace
