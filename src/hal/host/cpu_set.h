// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

/// The CPUs (hardware threads) that the system lets this thread run on, in their order; never empty.
std::vector<std::uint32_t> usable_cpus();
Status pin_thread(std::thread::native_handle_type, std::uint32_t cpu);

}  // namespace millrace
