// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "hal/hip/runtime.h"
#include "millrace/hal/driver.h"

namespace millrace::hip {

/// "hip:0"
inline std::string device_name(int ordinal) { return "hip:" + std::to_string(ordinal); }

/// What HIP knows about a device before it is opened.
struct DeviceFacts {
  int ordinal = 0;
  std::string name = {};          // "AMD Radeon RX 7900 XTX"
  std::string architecture = {};  // with its features: "gfx90a:sramecc+:xnack-"
  std::uint64_t memory_bytes = 0;
  std::uint64_t max_groups = 0;  // in one dimension of a grid
  bool has_memory_pools = false;

  /// "gfx90a"
  std::string gfx() const { return architecture.substr(0, architecture.find(':')); }
  DeviceInfo info(const Runtime&) const;
};

/// Precondition: the runtime has a device with this ordinal.
Result<DeviceFacts> find_facts(const Runtime&, int ordinal);

}  // namespace millrace::hip
