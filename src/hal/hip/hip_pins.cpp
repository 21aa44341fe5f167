// SPDX-License-Identifier: Apache-2.0
#include "hal/hip/hip_pins.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace::hip {

Result<std::shared_ptr<void>> PinnedRanges::pin(std::span<std::byte> memory) {
  const CurrentDevice current(*context_);
  MILLRACE_TRY(current.status());
  {
    const std::lock_guard lock(mutex_);
    ranges_.reserve(ranges_.size() + 1);
    const Error error = context_->hip().hipHostRegister(memory.data(), memory.size(), kHostRegisterDefault);
    MILLRACE_TRY(context_->check(fmt::format("pin: {} bytes of host memory", memory.size()), "hipHostRegister", error));
    ranges_.push_back(memory);
  }
  return std::shared_ptr<void>(memory.data(),
                               [pins = shared_from_this()](void* data) { pins->unpin(static_cast<std::byte*>(data)); });
}

void PinnedRanges::unpin(std::byte* data) {
  const std::lock_guard lock(mutex_);
  context_->release_host([&] { return context_->hip().hipHostUnregister(data); });
  ranges_.erase(std::ranges::find(ranges_, data, [](std::span<std::byte> range) { return range.data(); }));
}

bool PinnedRanges::contain(const void* data, std::size_t size_bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  {
    const std::lock_guard lock(mutex_);
    for (const std::span<std::byte> range : ranges_) {
      if (begin >= range.data() && begin + size_bytes <= range.data() + range.size()) return true;
    }
  }
  return size_bytes >= kWorthAsking && is_pinned_elsewhere(begin, size_bytes);
}

/// HIP knows addresses, not ranges: both ends must be pinned, by one call.
bool PinnedRanges::is_pinned_elsewhere(const std::byte* data, std::size_t size_bytes) const {
  const auto ask = [&](const std::byte* address, PointerAttributes& attributes) {
    return context_->hip().hipPointerGetAttributes(&attributes, address) == Error::kSuccess &&
           attributes.host_pointer != nullptr && attributes.device_pointer != nullptr;
  };
  PointerAttributes first{}, last{};
  if (!ask(data, first) || !ask(data + size_bytes - 1, last)) return false;
  return static_cast<std::byte*>(last.device_pointer) - static_cast<std::byte*>(first.device_pointer) ==
         static_cast<std::ptrdiff_t>(size_bytes - 1);
}

}  // namespace millrace::hip
