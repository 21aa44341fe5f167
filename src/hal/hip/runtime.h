// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "hal/hip/api.h"
#include "millrace/base/status.h"

namespace millrace::hip {

/// HIP's entry points by name; an optional one that the library lacks is null.
struct EntryPoints {
#define MILLRACE_HIP(need, result, name, parameters) result(*name) parameters = nullptr;
#include "hal/hip/functions.inc"
#undef MILLRACE_HIP
};

/// An opened HIP library. It is never closed: its threads would not survive that.
class Runtime : public EntryPoints {
 public:
  /// `library` is a path, or empty: see HipDeviceOptions::library. While a library's Runtime is in use, opening the
  /// library again returns the same Runtime. Fails with kUnavailable if there is no library, if it lacks a required
  /// entry point, or if it has no device.
  static Result<std::shared_ptr<const Runtime>> open(std::string_view library);

  const std::string& library() const { return library_; }
  /// "6.3.42131"
  const std::string& version() const { return version_; }
  /// At least 1.
  int num_devices() const { return num_devices_; }
  /// Whether work on a device of this library may never end. Once true, it stays true, for every later runtime of the
  /// library too.
  bool has_hung_device() const { return has_hung_device_->load(std::memory_order_acquire); }
  void note_hung_device() const { has_hung_device_->store(true, std::memory_order_release); }
  /// Clears has_hung_device() of every library, for tests that load a library anew.
  static void forget_hung_devices();

 private:
  Status start(void* library);

  std::string library_;
  std::string version_;
  int num_devices_ = 0;
  std::shared_ptr<std::atomic<bool>> has_hung_device_;  // shared by the library's runtimes
};

/// The status of a failed call: "allocate: hipMalloc failed with hipErrorOutOfMemory; free memory, or ask for less".
/// `entry` is the name of the HIP function.
Status call_failed(const Runtime&, std::string_view where, std::string_view entry, Error);
/// Ok for kSuccess.
Status to_status(const Runtime&, std::string_view where, std::string_view entry, Error);
/// HIP's own name for the error.
std::string name_of(const Runtime&, Error);
/// Whether the device is unusable in this process after this error.
bool loses_device(Error);

}  // namespace millrace::hip
