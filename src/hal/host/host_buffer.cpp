// SPDX-License-Identifier: Apache-2.0
// Buffers in host memory, for devices that address it.
#include "hal/host/host_buffer.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/guard_allocations.h"

namespace millrace {
namespace {

class HostBuffer final : public Buffer {
 public:
  HostBuffer(DeviceId device, void* data, std::size_t size_bytes, Deleter deleter)
      : Buffer(device, data, size_bytes), deleter_(std::move(deleter)) {}
  ~HostBuffer() override {
    if (deleter_) deleter_(host_address());
  }

 private:
  Deleter deleter_;
};

class OwnedHostBuffer final : public Buffer {
 public:
  OwnedHostBuffer(DeviceId device, void* data, std::size_t size_bytes) : Buffer(device, data, size_bytes) {}
  ~OwnedHostBuffer() override { std::free(host_address()); }
};

}  // namespace

Result<std::shared_ptr<Buffer>> allocate_host_buffer(std::size_t size_bytes, DeviceId device, std::size_t alignment) {
  // No object may be larger: pointer differences in it would overflow.
  const std::size_t max_bytes = std::numeric_limits<std::ptrdiff_t>::max() - alignment;
  // An empty buffer has an address of its own too, so that null always means "not given".
  void* data = nullptr;
  if (size_bytes <= max_bytes) {
    const std::size_t rounded = (size_bytes + alignment - 1) / alignment * alignment;
    data = std::aligned_alloc(alignment, std::max(rounded, alignment));
  }
  if (data == nullptr) {
    return resource_exhausted(
        fmt::format("buffer: {} bytes of host memory cannot be allocated; free memory, or ask for less", size_bytes));
  }
  std::unique_ptr<void, void (*)(void*)> memory(data, std::free);
  return guard_allocations([&] { return fmt::format("buffer of {} bytes", size_bytes); },
                           [&]() -> Result<std::shared_ptr<Buffer>> {
                             auto buffer = std::make_shared<OwnedHostBuffer>(device, data, size_bytes);
                             memory.release();  // NOLINT(bugprone-unused-return-value): the buffer owns it now
                             return std::shared_ptr<Buffer>(std::move(buffer));
                           });
}

std::shared_ptr<Buffer> import_host_buffer(void* data, std::size_t size_bytes, Buffer::Deleter deleter,
                                           DeviceId device) {
  return std::make_shared<HostBuffer>(device, data, size_bytes, std::move(deleter));
}

}  // namespace millrace
