// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "millrace/base/status.h"
#include "millrace/hal/buffer_binding.h"

namespace millrace {

/// A run of bytes that a device can use. Shared, never copied; freed with its last owner.
class Buffer {
 public:
  using Deleter = std::function<void(void*)>;
  static constexpr std::size_t kAlignment = 64;

  /// Host memory, 64-byte aligned, uninitialised. Fails with the size when there is no such memory.
  static Result<std::shared_ptr<Buffer>> allocate(std::size_t size_bytes);
  /// Wraps memory that the caller owns; `deleter` (may be empty) runs once, with the last owner.
  static std::shared_ptr<Buffer> import_host(void* data, std::size_t size_bytes, Deleter deleter = {});

  Buffer(void* data, std::size_t size_bytes, Deleter deleter)
      : data_(data), size_bytes_(size_bytes), deleter_(std::move(deleter)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (deleter_) deleter_(data_);
  }

  /// The export of the memory: its address on the host.
  void* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(data_), size_bytes_}; }

 private:
  void* data_;
  std::size_t size_bytes_;
  Deleter deleter_;
};

}  // namespace millrace
