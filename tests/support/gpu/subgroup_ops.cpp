// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gpu/subgroup_ops.h"

namespace millrace::test {

MachineValue subgroup_reduce(MachineBuilder& b, KernelOp op, MachineValue value, std::uint32_t subgroup_size) {
  for (std::uint32_t distance = subgroup_size / 2; distance > 0; distance /= 2) {
    value = b.emit(op, value.dtype, {value, b.shuffle_xor(value, distance)});
  }
  return value;
}

MachineValue subgroup_inclusive_scan(MachineBuilder& b, KernelOp op, MachineValue value, std::uint32_t subgroup_size) {
  const MachineValue lane = b.lane_id();
  for (std::uint32_t distance = 1; distance < subgroup_size; distance *= 2) {
    const MachineValue step = b.i32(static_cast<std::int32_t>(distance));
    const MachineValue lower = b.shuffle(value, b.sub(lane, step));
    value = b.select(b.le(step, lane), b.emit(op, value.dtype, {lower, value}), value);
  }
  return value;
}

}  // namespace millrace::test
