// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "millrace/base/status.h"
#include "millrace/hal/device.h"

namespace millrace {

/// A message with the device in front.
Status about_device(std::string_view spec, const Status&);

/// Why a device refuses what another device made.
Status foreign_recording(std::string_view device_name);
Status foreign_executable(const Device&);

/// Ok for bytes of a buffer of the device's own.
Status check_read_back(const Device&, const Buffer&, std::size_t offset_bytes, std::size_t size_bytes);

}  // namespace millrace
