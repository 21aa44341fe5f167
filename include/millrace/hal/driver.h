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

/// What is known about a device, opened or not.
struct DeviceInfo {
  std::string name = {};                 // the spec that opens it: "cpu", "hip:1"
  std::string description = {};          // for people
  std::uint64_t memory_bytes = 0;        // available to buffers; 0: unknown
  std::vector<TargetSpec> targets = {};  // the targets whose code it runs, best first; empty only if it has a `problem`
  bool addresses_host_memory = true;     // if false, caller memory is staged
  bool is_synchronous = true;            // submit() does the work before it returns, unless it has to wait
  /// What happens if a dispatch fails. If true, the commands after the next barrier and the submissions that wait for
  /// this one do not run. If false, they may run on whatever the dispatch wrote, but these submissions fail too.
  bool skips_work_after_failure = true;
  std::string problem = {};  // why it cannot be opened; then only its name is known
  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

/// The function with which a driver opens a device: a plain function, or a function object that owns what the driver's
/// devices share, such as threads. Copies share the object. A default-constructed one is empty; calling it is
/// undefined.
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
  /// Ok, or why no device is available here, such as a missing runtime.
  Status (*available)() = nullptr;
  /// All devices of the driver, in the order of their ordinals.
  Result<std::vector<DeviceInfo>> (*enumerate)() = nullptr;
  /// Fails for an unknown word or option; the message names it and the known ones.
  OpenDevice open = {};
};

/// "cpu", "cpu:avx2", "cpu:threads=1", "cpu:avx2,threads=4,pinned=on": runs host code and interpreted kernels. The word
/// is the best target whose code the device accepts, as a level and its features ("avx512+vbmi2"); the default is the
/// host's best target. Large dispatches are shared among `threads` threads, including the calling one; the default is
/// one per physical core that the process may use. With threads=1, the calling thread runs everything. All devices that
/// a cpu_driver() and its copies open with equal ThreadPoolOptions share their threads, so that a context has one pool.
Driver cpu_driver();

/// "hip", "hip:1", "hip:arch=gfx90a": an AMD GPU by its ordinal, or the first one of an architecture; see HipDevice.
/// Takes the options library, time_limit_ms, streams and staging_kib; see HipDeviceOptions.
Driver hip_driver();

/// "sim:gfx1100", "sim:gfx1100,seed=3": a GPU in the host's memory; see SimDevice. The seed is
/// SimDeviceOptions::order_seed.
Driver sim_driver();

}  // namespace millrace
