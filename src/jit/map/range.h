// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "jit/ir/linear_value.h"

namespace millrace {

/// The points of one dim that a loop walks, from `lower`.
struct MapRange {
  LinearValue lower;
  std::optional<std::int64_t> size;   // the same in every group
  std::optional<MachineValue> upper;  // when only the run knows the size
  std::int64_t multiple = 1;          // of the size
};

/// All of a dim.
MapRange whole_range(MachineBuilder& b, const SizeExpr& extent);

using RangeValues = MachineBuilder::Values;
struct RangeSteps {
  std::int64_t tile = 1;  // points of a main step
  std::int64_t tail = 1;  // points of a remainder step
  /// Carried values through a main step at `index`.
  std::function<RangeValues(const LinearValue& index, const RangeValues& carried)> main_step;
  /// Through a remainder step of min(tail, remaining) points; of `tail` points where nothing remains to be asked. Not
  /// called when tile == tail == 1.
  std::function<RangeValues(const LinearValue& index, std::optional<MachineValue> remaining,
                            const RangeValues& carried)>
      tail_step;
};

/// Walks the range in tiles, then what is left in tail steps. Facts (a constant size, a known multiple) leave out the
/// loops, or the remainder, that cannot happen, and the question of how much remains where no step is partial.
RangeValues emit_range(MachineBuilder& b, const MapRange& range, const RangeSteps& steps, RangeValues carried);

}  // namespace millrace
