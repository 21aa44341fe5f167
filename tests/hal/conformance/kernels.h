// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/hal/executable.h"
#include "millrace/hal/target_spec.h"

// Kernels of the suite for any target: those of tests/hal/test_kernels.h, and for a GPU the same kernels compiled by
// LLVM.

namespace millrace {

/// Whether devices for the target run C++ behind HostKernel. A GPU runs its machine code only.
inline bool runs_host_kernels(const TargetSpec& target) { return target.is_cpu() || target.is_simulated(); }

/// buffers[0][g] = g for each group g; u32.
ExecutableImage store_ids_on(const TargetSpec&);
/// buffers[1][g] = buffers[0][g] * sizes[0] for each group g; u32.
ExecutableImage scale_on(const TargetSpec&);
/// Sets KernelError::kIndexOutOfRange.
ExecutableImage fail_index_on(const TargetSpec&);
/// buffers[0][0] = buffers[0][0] * 10 + sizes[0]; u32, for one group.
ExecutableImage append_on(const TargetSpec&);

}  // namespace millrace
