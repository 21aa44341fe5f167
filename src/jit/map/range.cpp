// SPDX-License-Identifier: Apache-2.0
// Emits the loop over one dim: whole tiles first, then the remainder.
#include "jit/map/range.h"

#include <algorithm>

namespace millrace {
namespace {

class RangeEmitter {
 public:
  RangeEmitter(MachineBuilder& b, const MapRange& range, const RangeSteps& steps)
      : b_(b), range_(range), steps_(steps) {}

  RangeValues run(RangeValues carried) {
    if (range_.size) return run_known(*range_.size, std::move(carried));
    const MachineValue lower = range_.lower.value(b_);
    const MachineValue upper = *range_.upper;
    if (steps_.tile == 1 || range_.multiple % steps_.tile == 0) return main_loop(lower, upper, std::move(carried));
    const MachineValue size = b_.sub(upper, lower);
    const MachineValue main_end = b_.sub(upper, b_.rem(size, b_.i64(steps_.tile)));
    return tail_loop(main_end, upper, main_loop(lower, main_end, std::move(carried)));
  }

 private:
  RangeValues run_known(std::int64_t size, RangeValues carried) {
    const std::int64_t main_size = size / steps_.tile * steps_.tile;
    if (main_size == steps_.tile) {
      carried = steps_.main_step(range_.lower, carried);
    } else if (main_size > 0) {
      const MachineValue lower = range_.lower.value(b_);
      carried = main_loop(lower, after(main_size).value(b_), std::move(carried));
    }
    const std::int64_t left = size - main_size;
    if (left == 0) return carried;
    if (left <= steps_.tail) {
      return steps_.tail_step(after(main_size), has_whole_tails() ? std::nullopt : std::optional(b_.i64(left)),
                              carried);
    }
    const MachineValue tail_start = after(main_size).value(b_);
    return tail_loop(tail_start, after(size).value(b_), std::move(carried));
  }

  LinearValue after(std::int64_t points) { return range_.lower.plus(b_, LinearValue(points)); }

  RangeValues main_loop(MachineValue lower, MachineValue upper, const RangeValues& carried) {
    const MapLoop loop{lower, upper, b_.i64(steps_.tile), [&](MachineValue index, const RangeValues& values) {
                         return steps_.main_step(LinearValue(index), values);
                       }};
    if (steps_.main_loop) return steps_.main_loop(loop, carried);
    return b_.for_loop(loop.lower, loop.upper, loop.step, carried, loop.body);
  }

  RangeValues tail_loop(MachineValue lower, MachineValue upper, const RangeValues& carried) {
    return b_.for_loop(lower, upper, b_.i64(steps_.tail), carried, [&](MachineValue index, const RangeValues& values) {
      const auto remaining = has_whole_tails() ? std::nullopt : std::optional(b_.sub(upper, index));
      return steps_.tail_step(LinearValue(index), remaining, values);
    });
  }

  bool has_whole_tails() const { return range_.multiple % steps_.tail == 0; }

  MachineBuilder& b_;
  const MapRange& range_;
  const RangeSteps& steps_;
};

}  // namespace

MapRange whole_range(MachineBuilder& b, const SizeExpr& extent) {
  MapRange range;
  range.lower = LinearValue(0);
  range.multiple = std::max<std::int64_t>(extent.known_multiple(), 1);
  if (extent.is_constant()) {
    range.size = extent.constant();
  } else {
    range.upper = b.size(extent);
  }
  return range;
}

RangeValues emit_range(MachineBuilder& b, const MapRange& range, const RangeSteps& steps, RangeValues carried) {
  return RangeEmitter(b, range, steps).run(std::move(carried));
}

}  // namespace millrace
