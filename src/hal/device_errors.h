// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "millrace/base/status.h"
#include "millrace/hal/device.h"

namespace millrace {

/// The status with the device's name before its message.
Status about_device(std::string_view spec, const Status&);

/// The errors for a recording or an executable that another device made.
Status foreign_recording(std::string_view device_name);
Status foreign_executable(const Device&);

/// The message of a submission that was stopped.
inline constexpr std::string_view kStoppedOnRequest = "stopped on request; what it should have written is unspecified";
/// A kCancelled status. `where` names the submission or its command.
Status stopped_on_request(std::string_view where);

/// Fails unless the range is inside a buffer that this device made.
Status check_read_back(const Device&, const Buffer&, std::size_t offset_bytes, std::size_t size_bytes);

}  // namespace millrace
