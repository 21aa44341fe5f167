// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "hal/hip/memory.h"
#include "millrace/hal/buffer.h"

namespace millrace::hip {

class HipBuffer final : public Buffer {
 public:
  HipBuffer(DeviceId device, std::unique_ptr<DeviceBlock> block, std::size_t size_bytes)
      : Buffer(device, nullptr, size_bytes), block_(std::move(block)), address_(block_->address()) {}
  /// Wraps memory that the application owns.
  HipBuffer(DeviceId device, void* address, std::size_t size_bytes, Deleter deleter)
      : Buffer(device, nullptr, size_bytes), address_(address), deleter_(std::move(deleter)) {}
  ~HipBuffer() override {
    if (deleter_) deleter_(address_);
  }

  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(address_); }

 private:
  std::unique_ptr<DeviceBlock> block_;  // null if the application owns the memory
  void* address_;
  Deleter deleter_;
};

}  // namespace millrace::hip
