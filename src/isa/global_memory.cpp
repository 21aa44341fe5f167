// SPDX-License-Identifier: Apache-2.0
// Maps the addresses that a kernel uses to the buffers of its dispatch, and refuses all others.
#include "isa/global_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "millrace/base/check.h"

namespace millrace::isa {
namespace {

/// The alignment that LLVM assumes for the kernarg segment (AMDGPULowerKernelArguments). LLVM widens a load up to its
/// alignment (LegalizeVectorTypes.cpp, findMemType), so a load of the last argument may read up to the next multiple of
/// this.
constexpr std::size_t kArgumentsAlignment = 16;
constexpr std::byte kAfterArguments{0xa5};  // the bytes that such a load reads there

bool is_global(const Row& row) { return row.kind == Class::kGlobal || row.kind == Class::kScalarLoad; }

bool stores(const Kernel& kernel) {
  return std::ranges::any_of(kernel.instructions, [](const Instruction& instruction) {
    const Row& row = *instruction.row;
    return is_global(row) && row.access_bytes != 0 && row.access != AccessKind::kLoad;
  });
}

}  // namespace

std::uint32_t find_granule_bytes(const Kernel& kernel, bool is_local, std::uint32_t max_bytes) {
  std::uint32_t bytes = max_bytes;
  for (const Instruction& instruction : kernel.instructions) {
    const Row& row = *instruction.row;
    const bool is_of_class = is_local ? row.kind == Class::kLocal : is_global(row);
    if (is_of_class && row.access_bytes != 0) bytes = std::min<std::uint32_t>(bytes, std::bit_floor(row.access_bytes));
  }
  return bytes;
}

GlobalMemory::GlobalMemory(const Kernel& kernel, const Launch& launch) {
  const std::size_t num_bytes = launch.arguments.size();
  arguments_bytes_.assign((num_bytes + kArgumentsAlignment - 1) / kArgumentsAlignment * kArgumentsAlignment,
                          kAfterArguments);
  std::ranges::copy(launch.arguments, arguments_bytes_.begin());
  const auto arguments = reinterpret_cast<std::uint64_t>(arguments_bytes_.data());
  arguments_ = {arguments, arguments + num_bytes, "the arguments", false};
  for (const LaunchBuffer& buffer : launch.buffers) add_buffer(buffer);
  regions_.push_back(arguments_);
  regions_.push_back({kernel.image_address, kernel.image_address + kernel.image_bytes, "the code object", false});
  if (!launch.finds_mistakes || !stores(kernel)) return;
  for (const LaunchBuffer& buffer : launch.buffers) {
    if (buffer.is_written && buffer.size_bytes > 0) add_written(buffer.address, buffer.address + buffer.size_bytes);
  }
  const std::uint32_t smallest = find_granule_bytes(kernel, false, 4);
  for (WrittenRange& range : written_) {
    // A buffer that is not aligned to the accesses has smaller granules.
    const auto aligned = static_cast<std::uint32_t>(std::min<std::uint64_t>(smallest, range.begin & (0 - range.begin)));
    range.history = std::make_unique<MemoryHistory>(range.begin, range.end, aligned, false);
  }
}

void GlobalMemory::add_buffer(const LaunchBuffer& buffer) {
  std::uint64_t window = 0;
  if (buffer.argument_offset) {
    std::uint64_t address = 0;
    MILLRACE_CHECK(*buffer.argument_offset + sizeof(address) <= arguments_.size());
    window = std::uint64_t{regions_.size() + 1} << kHostBits;
    std::byte* argument = arguments_bytes_.data() + *buffer.argument_offset;
    std::memcpy(&address, argument, sizeof(address));
    address += window;
    std::memcpy(argument, &address, sizeof(address));
  }
  const std::uint64_t begin = buffer.address + window;
  regions_.push_back({begin, begin + buffer.size_bytes, buffer.name, buffer.is_written, window});
}

/// Joins the range with those that it overlaps.
void GlobalMemory::add_written(std::uint64_t begin, std::uint64_t end) {
  std::erase_if(written_, [&](const WrittenRange& other) {
    if (other.end <= begin || end <= other.begin) return false;
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
    return true;
  });
  written_.push_back({begin, end});
}

std::optional<std::uint32_t> GlobalMemory::find_outside(const Lanes<std::uint64_t>& addresses, std::uint64_t lanes,
                                                        std::uint32_t num_bytes, AccessKind kind) {
  const bool writes = kind != AccessKind::kLoad;
  std::size_t& last = last_[writes];
  for (std::uint64_t left = lanes; left != 0;) {
    // Lanes usually access the same region as the lanes before them, and as the previous instruction.
    const auto has = [&](const Region& region) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
      return region.contains(addresses.values[lane], num_bytes) && (region.is_written || !writes);
    };
    if (last >= regions_.size() || !has(regions_[last])) {
      const auto found = std::ranges::find_if(regions_, has);
      if (found == regions_.end()) return static_cast<std::uint32_t>(std::countr_zero(left));
      last = static_cast<std::size_t>(found - regions_.begin());
    }
    const std::uint64_t begin = regions_[last].begin, max_offset = regions_[last].size() - num_bytes;
    if (~left == 0) {
      // The top bit of `outside` is set if any lane is outside, as in memory_access.cpp.
      std::uint64_t outside = 0;
      for (std::uint32_t i = 0; i < kMaxLanes; ++i) {
        const std::uint64_t offset = addresses.values[i] - begin;
        outside |= offset | (max_offset - offset);
      }
      if (outside >> 63 == 0) return std::nullopt;
    }
    while (left != 0 && addresses.values[std::countr_zero(left)] - begin <= max_offset) left &= left - 1;
  }
  return std::nullopt;
}

MemoryHistory* GlobalMemory::find_history(std::uint64_t address) const {
  for (const WrittenRange& range : written_) {
    if (range.begin <= address && address < range.end) return range.history.get();
  }
  return nullptr;
}

const GlobalMemory::Region* GlobalMemory::nearest(std::uint64_t address) const {
  const auto distance = [&](const Region& region) {
    const std::uint64_t place = address >> kHostBits == 0 ? address + region.window : address;
    if (place < region.begin) return region.begin - place;
    return place < region.end ? 0 : place - region.end + 1;
  };
  const auto found = std::ranges::min_element(regions_, {}, distance);
  constexpr std::uint64_t kFar = std::uint64_t{1} << 30;
  return distance(*found) > kFar ? nullptr : &*found;
}

std::string GlobalMemory::place_text(std::uint64_t address) const {
  const Region* region = nearest(address);
  if (region == nullptr) return fmt::format("{:#x}", address);
  if (address >> kHostBits == 0) address += region->window;
  return address < region->begin ? fmt::format("{} - {}", region->name, region->begin - address)
                                 : fmt::format("{} + {}", region->name, address - region->begin);
}

std::string GlobalMemory::outside_text(std::uint64_t address, std::uint32_t num_bytes, AccessKind kind) const {
  const Region* region = nearest(address);
  if (region == nullptr) return fmt::format("{:#x}, far from all buffers of the dispatch", address);
  if (region->contains(address, num_bytes) && kind != AccessKind::kLoad) {
    return place_text(address) + ", which the dispatch may only read";
  }
  return fmt::format("{}, which has {} bytes", place_text(address), region->size());
}

}  // namespace millrace::isa
