// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/status.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// A workgroup kernel as a kernel of one thread that does the work of all the workgroup's threads, and so runs on a
/// CPU: a subgroup is a vector, the code between two barriers is a loop over the subgroups, and values of a thread that
/// live across a barrier are in memory. For tests: kernels for GPUs so run as machine code too, and not only on the
/// interpreter.
/// After "work-group functions" of Jääskeläinen et al., pocl: A Performance-Portable OpenCL Implementation, 2015.
///
/// Precondition: bounds and conditions around a barrier are the same in all threads, as the simulator checks.
/// A kernel of one thread is returned unchanged. Only a kernel that does not verify is refused.
Result<MachineKernel> split_barriers(const MachineKernel&);

}  // namespace millrace
