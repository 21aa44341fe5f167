// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hip_standin/runtime/state.h"

namespace millrace::hip_standin {

/// Executes the function's machine code. A mistake of the kernel is a finding, and the device is lost; an endless loop
/// makes the launch one that never ends.
void run_kernel(State&, int device, QueuedLaunch&);

}  // namespace millrace::hip_standin
