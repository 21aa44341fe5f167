// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "millrace/hal/host_kernel.h"

namespace millrace {

/// The compiled C++ routine of that name, for an image that a cache gives back; null when this build has none.
HostRoutine find_host_routine(std::string_view name);

}  // namespace millrace
