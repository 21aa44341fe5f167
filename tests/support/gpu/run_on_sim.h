// SPDX-License-Identifier: Apache-2.0
// Runs a machine kernel on a simulated device.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/hal/sim_device.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace::test {

struct SimLaunch {
  std::span<const BufferBinding> buffers = {};
  std::vector<std::int64_t> sizes = {};
  std::int64_t num_groups = 1;
  std::string target = "sim:gfx1100";
  SimDeviceOptions options = {};
};

struct SimRun {
  Status status;  // of the submission's semaphore
  SimCounts counts;
};

/// One dispatch, whose bindings are the launch's buffers in their order.
CommandList record_launch(const KernelInfo&, const SimLaunch&);

/// Plans the kernel for the target, loads it, and dispatches it once.
SimRun run_on_sim(const MachineKernel&, const SimLaunch&);

}  // namespace millrace::test
