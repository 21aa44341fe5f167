// SPDX-License-Identifier: Apache-2.0
// What all devices share: ids, and defaults for semaphores and reading back.
#include "millrace/hal/device.h"

#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/control/control_gate.h"
#include "hal/device_errors.h"

namespace millrace {

DeviceId new_device_id() {
  static std::atomic<std::uint64_t> last = 0;
  return DeviceId{++last};
}

Device::Device(DeviceInfo info, DeviceId id)
    : info_(std::move(info)), id_(id), control_gate_(std::make_shared<ControlGate>()) {}

Device::~Device() { close_control(); }

void Device::close_control() { control_gate_->close(); }

Result<std::shared_ptr<Semaphore>> Device::create_semaphore(std::uint64_t initial_value) {
  return guard_allocations([&]() -> Result<std::shared_ptr<Semaphore>> { return Semaphore::create(initial_value); });
}

Status Device::read_back(const Buffer& buffer, std::size_t offset_bytes, std::span<std::byte> destination) {
  return guard_allocations([&]() -> Status {
    MILLRACE_TRY(check_read_back(*this, buffer, offset_bytes, destination.size()));
    if (destination.empty()) return {};
    if (buffer.host_address() == nullptr) {
      return unimplemented(fmt::format("read back: device '{}' cannot read back its memory", name()));
    }
    std::memcpy(destination.data(), buffer.bytes().data() + offset_bytes, destination.size());
    return {};
  });
}

}  // namespace millrace
