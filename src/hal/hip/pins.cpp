// SPDX-License-Identifier: Apache-2.0
// Pins host memory for direct transfers, and recognises memory that is pinned already.
#include "hal/hip/pins.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "hal/hip/recording.h"

namespace millrace::hip {

Result<std::shared_ptr<void>> PinnedRanges::pin(std::span<std::byte> memory) {
  const CurrentDevice current(*context_);
  MILLRACE_TRY(current.status());
  if (memory.empty()) return invalid_argument("pin: 0 bytes of host memory, expected at least 1");
  const RangeRef range = add(memory);
  const Error error = context_->hip().hipHostRegister(memory.data(), memory.size(), kHostRegisterDefault);
  if (error != Error::kSuccess) {
    remove(range);
    return context_->check(fmt::format("pin: {} bytes of host memory", memory.size()), "hipHostRegister", error);
  }
  // If the shared pointer cannot be allocated, its constructor runs the deleter, which unpins the memory.
  const std::shared_ptr<void> owner(memory.data(), [pins = shared_from_this(), range](void* data) {
    // The call may block, so it is made without the lock.
    pins->context_->release_host([&] { return pins->context_->hip().hipHostUnregister(data); });
    pins->remove(range);
  });
  const std::lock_guard lock(mutex_);
  range->owner = owner;
  return owner;
}

PinnedRanges::RangeRef PinnedRanges::add(std::span<std::byte> memory) {
  const std::lock_guard lock(mutex_);
  ranges_.push_back({memory, {}});
  ++num_pins_;
  return std::prev(ranges_.end());
}

void PinnedRanges::remove(RangeRef range) {
  const std::lock_guard lock(mutex_);
  ranges_.erase(range);
}

std::shared_ptr<void> PinnedRanges::find(std::span<const std::byte> memory) {
  const std::lock_guard lock(mutex_);
  for (const Range& range : ranges_) {
    const std::byte* const end = range.memory.data() + range.memory.size();
    if (memory.data() < range.memory.data() || memory.data() + memory.size() > end) continue;
    if (std::shared_ptr<void> owner = range.owner.lock()) return owner;
  }
  return nullptr;
}

bool PinnedRanges::is_pinned_elsewhere(std::span<const std::byte> memory) {
  if (memory.size() < kWorthAsking) return false;
  // HIP's answer may be about a pin of ours that existed only for a moment, so it counts only if we have pinned nothing
  // since.
  const std::optional<std::uint64_t> before = num_pins_elsewhere(memory);
  return before && is_known_to_hip(memory) && num_pins_elsewhere(memory) == before;
}

std::optional<std::uint64_t> PinnedRanges::num_pins_elsewhere(std::span<const std::byte> memory) {
  const std::lock_guard lock(mutex_);
  const auto has_some = [&](const Range& range) { return overlap(range.memory, memory); };
  if (std::ranges::any_of(ranges_, has_some)) return std::nullopt;
  return num_pins_;
}

bool PinnedRanges::is_known_to_hip(std::span<const std::byte> memory) const {
  const auto ask = [&](const std::byte* address, PointerAttributes& attributes) {
    return context_->hip().hipPointerGetAttributes(&attributes, address) == Error::kSuccess &&
           attributes.host_pointer != nullptr && attributes.device_pointer != nullptr;
  };
  PointerAttributes first{}, last{};
  if (!ask(memory.data(), first) || !ask(&memory.back(), last)) return false;
  return static_cast<std::byte*>(last.device_pointer) - static_cast<std::byte*>(first.device_pointer) ==
         &memory.back() - memory.data();
}

}  // namespace millrace::hip
