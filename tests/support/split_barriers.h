// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/status.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// A workgroup kernel as a kernel of one thread that does what all of the workgroup's do, and so runs on a CPU: a
/// subgroup is a vector, a loop over the subgroups is the code between two barriers, and what a thread keeps across a
/// barrier stands in memory. For tests: what a kernel written for GPUs computes is so computed by machine code too,
/// and not by the interpreter alone.
/// After "work-group functions" of Jääskeläinen et al., pocl: A Performance-Portable OpenCL Implementation, 2015.
///
/// Precondition: bounds and conditions around a barrier are the same in all threads, as the simulator checks.
/// A kernel of one thread comes back as it is. Only what does not verify is refused.
Result<MachineKernel> split_barriers(const MachineKernel&);

}  // namespace millrace
