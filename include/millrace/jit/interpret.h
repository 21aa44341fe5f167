// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "millrace/hal/host_kernel.h"
#include "millrace/jit/machine_kernel.h"
#include "millrace/jit/memory_plan.h"

namespace millrace {

/// Executes workgroups [first_group, end_group) of a verified kernel, an instruction of all threads and lanes at a
/// time, with the meanings of `evaluate`; the reference that generated code is compared with. `args` as for machine
/// code. Fails where a thread leaves a slot, or waits at a barrier or in a shuffle for threads that are elsewhere.
Status interpret_kernel(const MachineKernel&, const MemoryPlan&, const KernelArgs& args, std::uint32_t first_group,
                        std::uint32_t end_group);

/// The interpreter as a kernel that a device runs.
std::shared_ptr<const HostKernel> make_interpreted_kernel(MachineKernel, MemoryPlan);

}  // namespace millrace
