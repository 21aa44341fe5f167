// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "millrace/hal/device.h"

namespace millrace::test {

struct FarDeviceOptions {
  std::uint64_t seed = 1;  // of delays and of the order
  std::chrono::microseconds max_delay{30};
};

/// A device that is like a discrete GPU. Its memory is out of the host's reach: pages without access, which are opened
/// while a submission uses them, and hold garbage when they are new. Work runs on a thread of its own, late, and in any
/// order that the semaphores allow. `inner` runs the commands; it finishes inline and addresses host memory.
std::shared_ptr<Device> create_far_device(std::shared_ptr<Device> inner, const FarDeviceOptions& = {});

}  // namespace millrace::test
