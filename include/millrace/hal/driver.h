// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
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
  std::vector<TargetSpec> targets = {};  // whose code it runs, best first; empty only where there is a problem
  bool addresses_host_memory = true;     // else caller memory is staged
  bool finishes_inline = true;           // submit() returns when the work is done, unless it waits for something
  /// Whether what stands behind a failing dispatch and a barrier, or waits for its submission, is left out. Else it may
  /// run on what the dispatch left, and its submission fails all the same.
  bool stops_at_failures = true;
  std::string problem = {};  // why nothing is known of it but its name, and it cannot be opened
  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

/// The function of a driver that opens a device: a plain one, or an object with what the driver's devices share, such
/// as threads. Copies share it. A default-constructed one is empty; calling it is undefined.
class OpenDevice {
 public:
  using Function = Result<std::shared_ptr<Device>>(const DeviceSpec&);

  OpenDevice() = default;
  OpenDevice(std::nullptr_t) {}
  OpenDevice(Function* function) : function_(function) {}
  template <class F>
    requires(std::is_class_v<F> && std::is_invocable_r_v<Result<std::shared_ptr<Device>>, F&, const DeviceSpec&>)
  OpenDevice(F object)
      : object_(std::make_shared<F>(std::move(object))),
        call_([](void* self, const DeviceSpec& spec) { return (*static_cast<F*>(self))(spec); }) {}

  Result<std::shared_ptr<Device>> operator()(const DeviceSpec& spec) const {
    return call_ == nullptr ? function_(spec) : call_(object_.get(), spec);
  }
  friend bool operator==(const OpenDevice& open, std::nullptr_t) {
    return open.function_ == nullptr && open.call_ == nullptr;
  }

 private:
  Function* function_ = nullptr;
  std::shared_ptr<void> object_;
  Result<std::shared_ptr<Device>> (*call_)(void* self, const DeviceSpec&) = nullptr;
};

/// Finds and opens devices of one kind.
struct Driver {
  std::string name = {};  // "cpu"
  /// Why no device can be had here (a missing runtime), or ok.
  Status (*available)() = nullptr;
  /// The devices that there are, in the order of their ordinals.
  Result<std::vector<DeviceInfo>> (*enumerate)() = nullptr;
  /// Fails naming the word or option that is not known, and those that are.
  OpenDevice open = {};
};

/// "cpu", "cpu:avx2", "cpu:threads=1", "cpu:avx2,threads=4,pinned=on": runs host code and interpreted kernels. Large
/// dispatches are shared among so many threads, the calling one included; without a number, one per physical core that
/// the process may use; with one, all runs on the calling thread. The word is the best target whose code it takes, a
/// level and its features ("avx512+vbmi2"); without one, the host's best. Devices of one cpu_driver(), and of its
/// copies, share the threads of a ThreadPoolOptions: a context has one pool.
Driver cpu_driver();

/// "hip", "hip:1", "hip:arch=gfx90a": an AMD GPU by its ordinal, or the first of an architecture; see HipDevice. Takes
/// library, time_limit_ms, streams and staging_kib, which are of HipDeviceOptions.
Driver hip_driver();

/// "sim:gfx1100", "sim:gfx1100,seed=3": a GPU in the host's memory, see SimDevice. The seed is
/// SimDeviceOptions::order_seed.
Driver sim_driver();

}  // namespace millrace
