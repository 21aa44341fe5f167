// SPDX-License-Identifier: Apache-2.0
#include "jit/algorithms/workgroup_scan.h"

#include <algorithm>

#include "jit/algorithms/control_flow.h"

namespace millrace {

WorkgroupScan::WorkgroupScan(MachineBuilder& b, Combine combine, MachineValue identity, const Threads& threads)
    : b_(b),
      combine_(std::move(combine)),
      identity_(identity),
      width_(threads.width),
      lanes_(std::min(threads.width, threads.subgroup_size)),
      lane_(b.lane_id()),
      place_(b.bit_and(b.thread_id(), b.i32(static_cast<std::int32_t>(width_ - 1)))) {
  if (width_ > lanes_) totals_ = b.workgroup_memory(identity.dtype, width_ / lanes_, "totals");
}

void WorkgroupScan::next_run() {
  if (width_ > lanes_) b_.barrier();
}

/// Lane i gets the lanes up to i of its `lanes_` neighbours combined.
MachineValue WorkgroupScan::scan_lanes(MachineValue mine) {
  for (std::uint32_t distance = 1; distance < lanes_; distance *= 2) {
    const MachineValue step = b_.i32(static_cast<std::int32_t>(distance));
    const MachineValue lower = b_.shuffle(mine, b_.sub(lane_, step));
    const MachineValue has_lower = b_.le(step, b_.bit_and(lane_, b_.i32(static_cast<std::int32_t>(lanes_ - 1))));
    mine = b_.select(has_lower, combine_(lower, mine), mine);
  }
  return mine;
}

ScannedValue WorkgroupScan::run(MachineValue mine) {
  const MachineValue inclusive = scan_lanes(mine);
  const MachineValue last = b_.i32(static_cast<std::int32_t>(lanes_ - 1));
  const MachineValue is_first = b_.eq(b_.bit_and(lane_, last), b_.i32(0));
  const MachineValue before = b_.select(is_first, identity_, b_.shuffle(inclusive, b_.sub(lane_, b_.i32(1))));
  if (width_ == lanes_) return {before, b_.shuffle(inclusive, b_.bit_or(lane_, last))};
  const MachineValue subgroup = b_.subgroup_id();
  when(b_, b_.eq(lane_, last), [&] { b_.store(totals_, subgroup, inclusive); });
  b_.barrier();
  MachineValue start = identity_, total = b_.load(totals_, b_.i32(0));
  for (std::uint32_t i = 1; i < width_ / lanes_; ++i) {
    const MachineValue number = b_.i32(static_cast<std::int32_t>(i));
    start = b_.select(b_.le(number, subgroup), total, start);
    total = combine_(total, b_.load(totals_, number));
  }
  return {combine_(start, before), total};
}

}  // namespace millrace
