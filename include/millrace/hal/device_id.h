// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace {

/// One opened device. What a device makes carries its id, so that another device can refuse it.
enum class DeviceId : std::uint64_t {};

/// Never given twice in a process, and never DeviceId{}.
DeviceId new_device_id();

}  // namespace millrace
