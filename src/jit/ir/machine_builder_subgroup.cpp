// SPDX-License-Identifier: Apache-2.0
// Builds thread and subgroup indices, and subgroup operations that consist of shuffles.
#include <bit>

#include "millrace/base/check.h"
#include "millrace/jit/machine_builder.h"

namespace millrace {

void MachineBuilder::set_workgroup(std::uint32_t num_threads, std::uint32_t subgroup_size) {
  kernel_.workgroup_size = num_threads;
  kernel_.subgroup_size = subgroup_size;
}

MachineValue MachineBuilder::lane_id() {
  if (kernel_.subgroup_size == kernel_.workgroup_size) return thread_id();
  return bit_and(thread_id(), i32(static_cast<std::int32_t>(kernel_.subgroup_size - 1)));
}

MachineValue MachineBuilder::subgroup_id() {
  if (kernel_.subgroup_size == kernel_.workgroup_size) return i32(0);
  return shr(thread_id(), i32(std::countr_zero(kernel_.subgroup_size)));
}

MachineValue MachineBuilder::shuffle(MachineValue value, MachineValue lane) {
  return append({value.dtype, 1}, KernelOp::kShuffle, {value.id, lane.id});
}

MachineValue MachineBuilder::shuffle_xor(MachineValue value, std::uint32_t mask) {
  return append({value.dtype, 1}, KernelOp::kShuffleXor, {value.id}, mask);
}

MachineValue MachineBuilder::ballot(MachineValue flag) {
  return append({DType::kU64, 1}, KernelOp::kBallot, {flag.id});
}

MachineValue MachineBuilder::broadcast(MachineValue value, std::uint32_t lane) {
  MILLRACE_CHECK(lane < kernel_.subgroup_size);
  return shuffle(value, i32(static_cast<std::int32_t>(lane)));
}

}  // namespace millrace
