// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "millrace/base/status.h"

namespace millrace {

/// Why a device refuses what another device made.
Status foreign_recording(std::string_view device_name);
Status foreign_executable(std::string_view device_name, std::string_view target);

}  // namespace millrace
