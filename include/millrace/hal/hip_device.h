// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/hal/device.h"

namespace millrace {

struct HipDeviceOptions {
  /// Path of a HIP runtime. Empty: the runtime that the process has already opened, otherwise the system's newest.
  std::string library = {};
  std::uint32_t ordinal = 0;
  /// The device counts as lost if work could run on it, but no work has ended for this long. 0: never.
  std::chrono::milliseconds time_limit = std::chrono::minutes(1);
  /// The number of streams that independent submissions share, 1 to 16. AMD's runtime has four hardware queues by
  /// default.
  std::uint32_t num_streams = 4;
  /// The application's stream (a hipStream_t of this device), which it still owns and which must outlive the device's
  /// work: all work runs in it, in the order of submission. The application's own work in it counts towards the time
  /// limit too. Null: streams of the device's own.
  void* stream = nullptr;
  /// Transfers between pageable host memory and the device go through two pinned blocks of this size, at least 4096.
  std::size_t staging_bytes = std::size_t{4} << 20;
};

/// Counts of objects that a HIP device did not, or could not, return to the runtime.
struct HipLosses {
  std::uint64_t num_quarantined = 0;      // objects never released, because the releasing call might hang
  std::uint64_t num_failed_releases = 0;  // calls that should have released an object, but failed
  friend bool operator==(const HipLosses&, const HipLosses&) = default;
};

/// An AMD GPU, driven by AMD's HIP runtime. submit() returns before the work has ended. Submissions that wait for each
/// other are ordered on the device, without the host. If a submission waits for another device's work, the host starts
/// it after that work has ended: if the GPU itself waited, a hang of the other device would hang the GPU too. Commands
/// after a failing dispatch run all the same (DeviceInfo::skips_work_after_failure). Every method leaves the calling
/// thread's current HIP device as it was.
///
/// When HIP reports a fault, or the time limit passes, the device is lost: all of its work and every later call fail
/// with the same kDeviceLost. Other devices continue. Many versions of AMD's runtime end the process instead when a
/// kernel touches unmapped memory.
///
/// Some HIP calls wait for queued work. While a kernel hangs, the following can therefore block until the time limit
/// has passed: allocate(), load() and pin_host(), and dropping the last owner of a buffer, recording, executable or
/// pin. If work uses a pin, the device's own thread drops it, and cannot check the time limit meanwhile.
///
/// A HIP call that fails sets the calling thread's hipGetLastError(), even if the failure is handled.
class HipDevice : public Device {
 public:
  /// Wraps device memory that the application owns; `deleter` (may be empty) runs once, with the last owner.
  virtual Result<std::shared_ptr<Buffer>> import_memory(void* device_address, std::size_t size_bytes,
                                                        Buffer::Deleter deleter = {}) = 0;
  /// Pins host memory while the result lives, so that uploads from this memory and downloads to it need no staging.
  /// Pinning locks every page, so it is worthwhile only for memory that is used repeatedly. After the result is
  /// dropped, the memory stays pinned until all work that was submitted before has ended. Until then, it must not be
  /// freed and cannot be pinned again.
  virtual Result<std::shared_ptr<void>> pin_host(std::span<std::byte> memory) = 0;
  virtual HipLosses losses() const = 0;

 protected:
  using Device::Device;
};

Result<std::shared_ptr<HipDevice>> create_hip_device(const HipDeviceOptions& = {});
/// Opens a spec of hip_driver().
Result<std::shared_ptr<HipDevice>> open_hip_device(const DeviceSpec&);
/// The devices of the HIP runtime at the path; see HipDeviceOptions::library. Includes those with an architecture for
/// which Millrace generates no code; these cannot be opened.
Result<std::vector<DeviceInfo>> enumerate_hip_devices(std::string_view library = {});

}  // namespace millrace
