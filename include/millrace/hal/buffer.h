// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "millrace/base/callback.h"
#include "millrace/hal/buffer_binding.h"
#include "millrace/hal/device_id.h"

namespace millrace {

/// Memory of one device. Shared, never copied; freed with its last owner. Opaque: only its device knows its address,
/// unless the host can address it too.
class Buffer {
 public:
  /// Frees imported memory; receives its address.
  using Deleter = Callback<void*>;
  /// The alignment of the first byte, on every device.
  static constexpr std::size_t kAlignment = 64;

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  virtual ~Buffer() = default;

  DeviceId device() const { return device_; }
  std::size_t size_bytes() const { return size_bytes_; }
  /// The address at which the host reads and writes the buffer while no submission uses it. Null if the host cannot.
  void* host_address() const { return host_address_; }
  /// Precondition: the host can address it.
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(host_address_), size_bytes_}; }
  /// The whole buffer, for a submission.
  BufferBinding binding() const { return {.size_bytes = size_bytes_, .buffer = this}; }

 protected:
  Buffer(DeviceId device, void* host_address, std::size_t size_bytes)
      : device_(device), host_address_(host_address), size_bytes_(size_bytes) {}

 private:
  DeviceId device_;
  void* host_address_;
  std::size_t size_bytes_;
};

}  // namespace millrace
