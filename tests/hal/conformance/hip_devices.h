// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tests/hal/conformance/devices.h"

namespace millrace {

/// HIP devices whose runtime is the stand-in, which executes code that LLVM makes. None in a build without LLVM.
std::span<const DeviceCase> conformance_hip_devices();

}  // namespace millrace
