// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "millrace/hal/host_kernel.h"
#include "millrace/jit/machine_kernel.h"
#include "millrace/jit/memory_plan.h"

namespace millrace {

/// Executes workgroups [first_group, end_group) of a verified kernel, one instruction at a time for all threads and
/// lanes, with the meanings of `evaluate`. Tests compare generated code with its results. `args` is the same as for
/// machine code. Fails if a thread accesses memory outside a slot, or if some threads wait at a barrier or shuffle that
/// others do not reach.
Status interpret_kernel(const MachineKernel&, const MemoryPlan&, const KernelArgs& args, std::uint32_t first_group,
                        std::uint32_t end_group);

/// The interpreter wrapped as a kernel that a device can run.
std::shared_ptr<const HostKernel> make_interpreted_kernel(MachineKernel, MemoryPlan);

}  // namespace millrace
