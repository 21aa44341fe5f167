// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace {

/// Identifies one opened device. The objects that a device makes carry its id, so that another device can refuse them.
enum class DeviceId : std::uint64_t {};

/// Unique in the process, and never DeviceId{}.
DeviceId new_device_id();

}  // namespace millrace
