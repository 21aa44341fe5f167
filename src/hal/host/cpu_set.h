// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

/// The CPUs (hardware threads) on which the system lets this thread run, in ascending order; never empty.
std::vector<std::uint32_t> usable_cpus();
Status pin_thread(std::thread::native_handle_type, std::uint32_t cpu);

}  // namespace millrace
