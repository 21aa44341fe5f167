// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/runtime/memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace millrace::hip_standin {

std::string Allocation::to_text() const {
  return fmt::format("{} bytes of device {} at {:#x}", size_bytes, device, address);
}

std::shared_ptr<Allocation> Memory::allocate(int device, std::uint64_t size_bytes) {
  const std::uint64_t address = device_addresses_.reserve(size_bytes);
  std::byte* const bytes = address == 0 ? nullptr : map_pages(size_bytes, kRubbish);
  if (bytes == nullptr) return nullptr;
  auto allocation = std::make_shared<Allocation>(
      Allocation{.address = address, .size_bytes = size_bytes, .device = device, .bytes = bytes});
  allocations_.emplace(address, allocation);
  return allocation;
}

void Memory::release(Allocation& allocation) {
  if (allocation.bytes != nullptr) unmap_pages(std::exchange(allocation.bytes, nullptr), allocation.size_bytes);
  allocation.is_released = true;
}

std::shared_ptr<Allocation> Memory::find(std::uint64_t address) const {
  const auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  const std::shared_ptr<Allocation>& before = std::prev(after)->second;
  return address <= before->address + before->size_bytes ? before : nullptr;
}

std::uint64_t Memory::allocate_pinned(std::uint64_t size_bytes) {
  const std::uint64_t address = host_addresses_.reserve(size_bytes);
  if (address == 0 || !open_pages(address, size_bytes)) return 0;
  std::memset(reinterpret_cast<void*>(address), kRubbish, size_bytes);
  pinned_.emplace(address, PinnedRange{address, size_bytes});
  return address;
}

void Memory::register_pinned(std::uint64_t address, std::uint64_t size_bytes) {
  pinned_.emplace(address, PinnedRange{address, size_bytes, true});
}

void Memory::release_pinned(const PinnedRange& range) {
  if (!range.is_registered) close_pages(range.address, range.size_bytes);
  pinned_.erase(range.address);
}

const PinnedRange* Memory::find_pinned(std::uint64_t address, std::uint64_t size_bytes) const {
  const PinnedRange* range = find_overlapping_pinned(address, std::max<std::uint64_t>(size_bytes, 1));
  if (range == nullptr || address < range->address) return nullptr;
  return address + size_bytes <= range->address + range->size_bytes ? range : nullptr;
}

const PinnedRange* Memory::find_overlapping_pinned(std::uint64_t address, std::uint64_t size_bytes) const {
  auto after = pinned_.lower_bound(address + size_bytes);
  if (after == pinned_.begin()) return nullptr;
  const PinnedRange& last = std::prev(after)->second;
  return address < last.address + last.size_bytes ? &last : nullptr;
}

std::vector<std::string> Memory::live_objects() const {
  std::vector<std::string> texts;
  for (const auto& [address, allocation] : allocations_) {
    if (!allocation->is_released) texts.push_back(allocation->to_text());
  }
  for (const auto& [address, range] : pinned_) {
    texts.push_back(fmt::format("{} {} bytes of the host at {:#x}", range.size_bytes,
                                range.is_registered ? "registered" : "pinned", address));
  }
  return texts;
}

void Memory::clear() {
  for (const auto& [address, allocation] : allocations_) release(*allocation);
  allocations_.clear();
  while (!pinned_.empty()) release_pinned(PinnedRange(pinned_.begin()->second));
}

}  // namespace millrace::hip_standin
