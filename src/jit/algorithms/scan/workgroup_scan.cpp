// SPDX-License-Identifier: Apache-2.0
// A prefix scan over the threads of a workgroup: shuffles within subgroups, workgroup memory between them.
#include "jit/algorithms/scan/workgroup_scan.h"

#include <algorithm>
#include <bit>

#include "jit/algorithms/control_flow.h"

namespace millrace {

WorkgroupScan::WorkgroupScan(MachineBuilder& b, Combine combine, MachineValue identity, const Threads& threads)
    : b_(b),
      combine_(std::move(combine)),
      identity_(identity),
      width_(threads.width),
      subgroup_size_(threads.subgroup_size),
      lane_(b.lane_id()) {
  if (may_be_workgroup()) totals_ = b.workgroup_memory(identity.dtype, width_.maximum / subgroup_size_, "totals");
  if (!width_.bits) {
    const auto max_lanes = static_cast<std::int32_t>(std::min(width_.maximum, subgroup_size_));
    last_ = b.i32(max_lanes - 1);
    place_ = b.bit_and(b.thread_id(), b.i32(static_cast<std::int32_t>(width_.maximum - 1)));
    return;
  }
  const MachineValue mask = b.sub(value_of(b, width_), b.i32(1));
  place_ = b.bit_and(b.thread_id(), mask);
  last_ = b.bit_and(mask, b.i32(static_cast<std::int32_t>(subgroup_size_ - 1)));
  for (std::int32_t bits = 0; std::uint32_t{1} << bits < std::min(width_.maximum, subgroup_size_); ++bits) {
    has_distance_.push_back(b.lt(b.i32(bits), *width_.bits));
  }
  if (may_be_workgroup()) is_workgroup_ = b.lt(b.i32(std::countr_zero(subgroup_size_)), *width_.bits);
}

void WorkgroupScan::next_run() {
  if (may_be_workgroup()) b_.barrier();
}

/// Returns to each thread the combination of the values of its group's threads, up to and including its own. `mine` is
/// the combination of the last `distance` of these values.
MachineValue WorkgroupScan::scan_lanes(MachineValue mine, std::uint32_t distance) {
  if (distance >= std::min(width_.maximum, subgroup_size_)) return mine;
  const auto scanned = [&] {
    const MachineValue step = b_.i32(static_cast<std::int32_t>(distance));
    const MachineValue lower = b_.shuffle(mine, b_.sub(lane_, step));
    const MachineValue has_lower = b_.le(step, b_.bit_and(lane_, last_));
    return scan_lanes(b_.select(has_lower, combine_(lower, mine), mine), distance * 2);
  };
  if (has_distance_.empty()) return scanned();
  return b_.if_else(
      has_distance_[static_cast<std::size_t>(std::countr_zero(distance))],
      [&] { return MachineBuilder::Values{scanned()}; }, [&] { return MachineBuilder::Values{mine}; })[0];
}

ScannedValue WorkgroupScan::run(MachineValue mine) {
  const MachineValue inclusive = scan_lanes(mine);
  const MachineValue is_first = b_.eq(b_.bit_and(lane_, last_), b_.i32(0));
  const MachineValue before = b_.select(is_first, identity_, b_.shuffle(inclusive, b_.sub(lane_, b_.i32(1))));
  if (!may_be_workgroup()) return run_subgroup(inclusive, before);
  if (!width_.bits) return run_workgroup(inclusive, before);
  const auto values = [](const ScannedValue& scanned) { return MachineBuilder::Values{scanned.before, scanned.total}; };
  const auto both = b_.if_else(
      is_workgroup_, [&] { return values(run_workgroup(inclusive, before)); },
      [&] { return values(run_subgroup(inclusive, before)); });
  return {both[0], both[1]};
}

ScannedValue WorkgroupScan::run_subgroup(MachineValue inclusive, MachineValue before) {
  return {before, b_.shuffle(inclusive, b_.bit_or(lane_, last_))};
}

ScannedValue WorkgroupScan::run_workgroup(MachineValue inclusive, MachineValue before) {
  const MachineValue subgroup = b_.subgroup_id();
  when(b_, b_.eq(lane_, b_.i32(static_cast<std::int32_t>(subgroup_size_ - 1))),
       [&] { b_.store(totals_, subgroup, inclusive); });
  b_.barrier();
  MachineValue start = identity_, total = b_.load(totals_, b_.i32(0));
  for (std::uint32_t i = 1; i < width_.maximum / subgroup_size_; ++i) {
    const MachineValue number = b_.i32(static_cast<std::int32_t>(i));
    start = b_.select(b_.le(number, subgroup), total, start);
    total = combine_(total, b_.load(totals_, number));
  }
  return {combine_(start, before), total};
}

}  // namespace millrace
