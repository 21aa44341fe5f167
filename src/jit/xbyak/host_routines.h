// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "millrace/hal/host_kernel.h"

namespace millrace {

/// The compiled C++ routine with this name, for an image read from a cache; null if this build does not have it.
HostRoutine find_host_routine(std::string_view name);

}  // namespace millrace
