// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "millrace/base/status.h"
#include "millrace/hal/device.h"

namespace millrace {

/// The status with the device's name in front of its message.
Status about_device(std::string_view spec, const Status&);

/// The error for an object that another device made.
Status foreign_recording(std::string_view device_name);
Status foreign_executable(const Device&);

/// What a kernel was doing when its submission's stop was requested.
inline constexpr std::string_view kStoppedOnRequest = "stopped on request; what it should have written is unspecified";
/// kCancelled. `where` is the submission, or its command.
Status stopped_on_request(std::string_view where);

/// Ok if the range is inside a buffer that this device made.
Status check_read_back(const Device&, const Buffer&, std::size_t offset_bytes, std::size_t size_bytes);

}  // namespace millrace
