// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/status.h"
#include "millrace/hal/device_spec.h"
#include "millrace/hal/target_spec.h"

namespace millrace {

class Device;  // device.h

/// What is known of a device, opened or not.
struct DeviceInfo {
  std::string name = {};                 // the spec that opens it: "cpu", "hip:1"
  std::string description = {};          // for people
  std::uint64_t memory_bytes = 0;        // that buffers can have; 0: not known
  std::vector<TargetSpec> targets = {};  // whose code it runs, best first; never empty
  bool addresses_host_memory = true;     // else caller memory is staged
  bool finishes_inline = true;           // submit() returns when the work is done, unless it waits for something
  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

/// Finds and opens devices of one kind.
struct Driver {
  std::string name = {};  // "cpu"
  /// Why no device can be had here (a missing runtime), or ok.
  Status (*available)() = nullptr;
  /// The devices that there are, in the order of their ordinals.
  Result<std::vector<DeviceInfo>> (*enumerate)() = nullptr;
  /// Fails naming the word or option that is not known, and those that are.
  Result<std::shared_ptr<Device>> (*open)(const DeviceSpec&) = nullptr;
};

/// "cpu", "cpu:avx2": runs host code and interpreted kernels on the calling thread. The word is the best level whose
/// code it takes; without one, the host's best.
Driver cpu_driver();

/// "sim:gfx1100", "sim:gfx1100,seed=3": a GPU in the host's memory, see SimDevice. The seed is
/// SimDeviceOptions::order_seed.
Driver sim_driver();

}  // namespace millrace
