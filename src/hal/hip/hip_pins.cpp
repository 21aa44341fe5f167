// SPDX-License-Identifier: Apache-2.0
#include "hal/hip/hip_pins.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace::hip {

Result<std::shared_ptr<void>> PinnedRanges::pin(std::span<std::byte> memory) {
  const CurrentDevice current(*context_);
  MILLRACE_TRY(current.status());
  // Known from when its owner is: the owner itself comes first, so that whatever fails from here on unpins.
  const Error error = context_->hip().hipHostRegister(memory.data(), memory.size(), kHostRegisterDefault);
  MILLRACE_TRY(context_->check(fmt::format("pin: {} bytes of host memory", memory.size()), "hipHostRegister", error));
  const std::shared_ptr<void> owner(
      memory.data(), [pins = shared_from_this()](void* data) { pins->unpin(static_cast<std::byte*>(data)); });
  const std::lock_guard lock(mutex_);
  ranges_.push_back({memory, owner});
  return owner;
}

void PinnedRanges::unpin(std::byte* data) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(ranges_, [&](const Range& range) { return range.memory.data() == data; });
  }
  // It may block, and others are to go on meanwhile.
  context_->release_host([&] { return context_->hip().hipHostUnregister(data); });
}

std::shared_ptr<void> PinnedRanges::find(std::span<const std::byte> memory) {
  const std::lock_guard lock(mutex_);
  for (const Range& range : ranges_) {
    const std::byte* const end = range.memory.data() + range.memory.size();
    if (memory.data() >= range.memory.data() && memory.data() + memory.size() <= end) return range.owner.lock();
  }
  return nullptr;
}

bool PinnedRanges::is_pinned_elsewhere(std::span<const std::byte> memory) const {
  const std::byte* const data = memory.data();
  const std::size_t size_bytes = memory.size();
  if (size_bytes < kWorthAsking) return false;
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
