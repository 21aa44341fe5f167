// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/base/status.h"
#include "millrace/hal/target_spec.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {

struct PlannedSlot {
  std::string name;
  MemoryKind kind = MemoryKind::kWorkgroup;
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
  std::uint32_t first_phase = 0;  // each barrier begins a new phase; a slot used in a loop lives for the whole loop
  std::uint32_t last_phase = 0;
  PaddedRow row = {};  // the slot's padded row
  friend bool operator==(const PlannedSlot&, const PlannedSlot&) = default;
};

/// The place of every slot of a kernel, fixed before any code is emitted. Slots whose phases do not overlap may share
/// bytes. A slot that no instruction accesses gets no bytes. Offsets are multiples of 64.
struct MemoryPlan {
  std::vector<PlannedSlot> slots;  // in the order of MachineKernel::slots
  std::uint64_t workgroup_bytes = 0;
  std::uint64_t private_bytes = 0;
  friend bool operator==(const MemoryPlan&, const MemoryPlan&) = default;
};

/// A target's limits in bytes. CPU: half of a common L2 cache per workgroup, and a stack size that every thread can be
/// expected to have. GPU: LDS per workgroup, and the capacity of the 256 vector registers that a thread can address,
/// because private memory beyond them would silently be placed in slow memory.
struct MemoryLimits {
  std::uint64_t workgroup_bytes = 0;
  std::uint64_t private_bytes = 0;
};
MemoryLimits memory_limits(const TargetSpec&);

/// Fails with kResourceExhausted if the slots do not fit: "sort: 96 KiB of workgroup memory planned, amdgpu:gfx1100 has
/// 64 KiB".
Result<MemoryPlan> plan_memory(const MachineKernel&, const TargetSpec&);
std::string to_text(const MemoryPlan&);

}  // namespace millrace
