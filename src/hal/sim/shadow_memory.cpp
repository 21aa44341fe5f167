// SPDX-License-Identifier: Apache-2.0
// Checks every access of an interpreted kernel against bounds, stored bytes and races.
#include "hal/sim/shadow_memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "millrace/base/check.h"
#include "millrace/hal/host_kernel.h"

namespace millrace {
namespace {

std::string_view present(AccessKind kind) {
  constexpr std::string_view kVerbs[] = {"loads", "stores", "updates"};
  return kVerbs[static_cast<std::size_t>(kind)];
}

std::string_view past(AccessKind kind) {
  constexpr std::string_view kVerbs[] = {"loaded", "stored", "updated"};
  return kVerbs[static_cast<std::size_t>(kind)];
}

struct Granules {
  std::uint64_t first = 0, end = 0;
};

/// The granules of a thread's elements, in memory that begins at `offset_bytes`.
Granules granules_of(const ThreadAccess& thread, std::uint64_t offset_bytes, std::uint64_t element_bytes,
                     std::uint64_t granule_bytes) {
  const std::uint64_t first = offset_bytes + static_cast<std::uint64_t>(thread.first_element) * element_bytes;
  return {first / granule_bytes, (first + thread.num_elements * element_bytes + granule_bytes - 1) / granule_bytes};
}

}  // namespace

Status ShadowMemory::begin_group(const ObservedKernel& kernel, const KernelArgs& args, std::uint32_t group) {
  if (!is_bound_) bind(kernel, args);
  group_ = group;
  ++phase_;
  std::ranges::fill(workgroup_.last_stored, 0u);
  std::ranges::fill(private_.last_stored, 0u);
  return {};
}

Status ShadowMemory::barrier(std::uint32_t) {
  ++phase_;
  return {};
}

void ShadowMemory::bind(const ObservedKernel& kernel, const KernelArgs& args) {
  is_bound_ = true;
  kernel_ = kernel;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const ObservedMemory& memory = kernel.memories[i];
    MILLRACE_CHECK(memory.kind == MemoryKind::kBuffer);
    const auto begin = reinterpret_cast<std::uintptr_t>(args.buffers[i]);
    buffers_.push_back(begin);
    // A buffer that is not aligned to the size of its elements has granules of one byte.
    const std::uint64_t granule_bytes = begin % memory.element_bytes == 0 ? memory.element_bytes : 1;
    add_region({.begin = begin,
                .end = begin + arguments_[i].size_bytes,
                .granule_bytes = granule_bytes,
                .is_written = memory.is_written});
  }
  for (Region& region : regions_) {
    const std::uint64_t num_granules = (region.end - region.begin + region.granule_bytes - 1) / region.granule_bytes;
    if (region.is_written) region.chunks.resize(num_granules / Region::kChunk + 1);
  }
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const auto region = std::ranges::find_if(regions_, [&](const Region& candidate) {
      return candidate.begin <= buffers_[i] && buffers_[i] + arguments_[i].size_bytes <= candidate.end;
    });
    region_of_.push_back(static_cast<std::size_t>(region - regions_.begin()));
  }
  bind_slots(MemoryKind::kWorkgroup, kernel.workgroup_bytes, 1, workgroup_);
  bind_slots(MemoryKind::kPrivate, kernel.private_bytes, kernel.workgroup_size, private_);
  workgroup_histories_.resize(workgroup_.num_granules);
}

/// Adds a region, and joins it with the regions that it shares bytes with.
void ShadowMemory::add_region(Region region) {
  std::erase_if(regions_, [&](const Region& other) {
    if (other.end <= region.begin || region.end <= other.begin) return false;
    region.begin = std::min(region.begin, other.begin);
    region.end = std::max(region.end, other.end);
    region.granule_bytes = std::min(region.granule_bytes, other.granule_bytes);
    region.is_written |= other.is_written;
    return true;
  });
  regions_.push_back(std::move(region));
}

void ShadowMemory::bind_slots(MemoryKind kind, std::uint64_t bytes, std::uint32_t copies, Slots& slots) {
  for (const ObservedMemory& memory : kernel_.memories) {
    if (memory.kind == kind) slots.granule_bytes = std::min(slots.granule_bytes, memory.element_bytes);
  }
  slots.num_granules = bytes / slots.granule_bytes + 1;
  slots.last_stored.resize(slots.num_granules * copies);
}

Status ShadowMemory::access(const MemoryAccess& access) {
  const bool is_slot = kernel_.memories[access.memory].kind != MemoryKind::kBuffer;
  for (const ThreadAccess& thread : access.threads) {
    MILLRACE_TRY(check_bounds(access, thread));
    if (!is_slot) MILLRACE_TRY(check_stated(access, thread));
    MILLRACE_TRY(is_slot ? touch_slot(access, thread) : touch_buffer(access, thread));
  }
  return {};
}

Status ShadowMemory::check_bounds(const MemoryAccess& access, const ThreadAccess& thread) const {
  const ObservedMemory& memory = kernel_.memories[access.memory];
  const std::uint64_t num_elements = memory.kind == MemoryKind::kBuffer
                                         ? arguments_[access.memory].size_bytes / memory.element_bytes
                                         : memory.num_elements;
  if (thread.first_element >= 0 && thread.num_elements <= num_elements &&
      static_cast<std::uint64_t>(thread.first_element) <= num_elements - thread.num_elements) {
    return {};
  }
  const std::string elements = thread.num_elements == 1
                                   ? fmt::format("element {}", thread.first_element)
                                   : fmt::format("{} elements from {} on", thread.num_elements, thread.first_element);
  return internal_error(fmt::format("thread {} of group {} {} {} of {}, which has {}", thread.thread, group_,
                                    present(access.kind), elements, memory.name, num_elements));
}

bool ObservedBuffer::states(std::uint64_t begin, std::uint64_t end) const {
  if (begin < begin_bytes || end > end_bytes) return false;
  std::uint64_t in_row = begin - begin_bytes;
  return std::ranges::all_of(rows, [&](const Rows& each) {
    in_row %= each.pitch_bytes;
    return in_row + (end - begin) <= each.row_bytes;
  });
}

/// Barriers between dispatches are placed according to the bytes that each dispatch states, so a kernel must not touch
/// any other bytes.
Status ShadowMemory::check_stated(const MemoryAccess& access, const ThreadAccess& thread) const {
  const ObservedMemory& memory = kernel_.memories[access.memory];
  const ObservedBuffer& argument = arguments_[access.memory];
  const std::uint64_t begin = static_cast<std::uint64_t>(thread.first_element) * memory.element_bytes;
  const std::uint64_t end = begin + thread.num_elements * memory.element_bytes;
  if (argument.states(begin, end)) return {};
  std::string rows;
  for (const auto& [pitch, row] : argument.rows) rows += fmt::format(" by {} of {}", row, pitch);
  return internal_error(
      fmt::format("thread {} of group {} {} bytes [{}, {}) of {}, but the dispatch states [{}, {}){}; state "
                  "everything that the kernel touches",
                  thread.thread, group_, present(access.kind), begin, end, memory.name, argument.begin_bytes,
                  argument.end_bytes, rows));
}

Status ShadowMemory::touch_buffer(const MemoryAccess& access, const ThreadAccess& thread) {
  Region& region = regions_[region_of_[access.memory]];
  if (!region.is_written) return {};
  const std::uint64_t start = buffers_[access.memory] - region.begin;
  const std::uint64_t element_bytes = kernel_.memories[access.memory].element_bytes;
  const auto [first, end] = granules_of(thread, start, element_bytes, region.granule_bytes);
  const Accessor me{.group = group_, .thread = thread.thread, .line = access.line};
  for (std::uint64_t granule = first; granule < end; ++granule) {
    auto& chunk = region.chunks[granule / Region::kChunk];
    if (chunk == nullptr) chunk = std::make_unique<AccessHistory[]>(Region::kChunk);
    const auto race = chunk[granule % Region::kChunk].add(access.kind, me, 0);
    if (race) return race_error(access, thread, granule * region.granule_bytes - start, *race);
  }
  return {};
}

Status ShadowMemory::touch_slot(const MemoryAccess& access, const ThreadAccess& thread) {
  const ObservedMemory& memory = kernel_.memories[access.memory];
  const bool is_private = memory.kind == MemoryKind::kPrivate;
  Slots& slots = is_private ? private_ : workgroup_;
  const auto [first, end] = granules_of(thread, memory.offset_bytes, memory.element_bytes, slots.granule_bytes);
  const Accessor me{.group = group_, .thread = thread.thread, .line = access.line};
  std::uint32_t* last_stored = slots.last_stored.data() + (is_private ? thread.thread * slots.num_granules : 0);
  for (std::uint64_t granule = first; granule < end; ++granule) {
    if (!is_private) {
      const auto race = workgroup_histories_[granule].add(access.kind, me, phase_);
      if (race) return race_error(access, thread, granule * slots.granule_bytes, *race);
    }
    if (access.kind != AccessKind::kStore) {
      MILLRACE_TRY(check_stored(access, thread, granule * slots.granule_bytes, last_stored[granule]));
    }
    last_stored[granule] = access.memory + 1;
  }
  return {};
}

Status ShadowMemory::check_stored(const MemoryAccess& access, const ThreadAccess& thread, std::uint64_t offset_bytes,
                                  std::uint32_t last_stored) const {
  if (last_stored == access.memory + 1) return {};
  const std::string place = place_text(access, thread, offset_bytes);
  if (last_stored == 0) return internal_error(place + ", where nothing was stored");
  return internal_error(fmt::format("{}, where {} was stored last", place, kernel_.memories[last_stored - 1].name));
}

Status ShadowMemory::race_error(const MemoryAccess& access, const ThreadAccess& thread, std::uint64_t offset_bytes,
                                const AccessHistory::Race& race) const {
  const bool is_buffer = kernel_.memories[access.memory].kind == MemoryKind::kBuffer;
  return internal_error(
      fmt::format("{}, which thread {} of group {} {} at line {}; {}", place_text(access, thread, offset_bytes),
                  race.other.thread, race.other.group, past(race.kind), race.other.line,
                  is_buffer ? "not even a barrier orders buffers within a dispatch" : "a barrier must separate them"));
}

/// `offset_bytes` counts from the start of the buffer or, for a slot, of all memory of the slot's kind.
std::string ShadowMemory::place_text(const MemoryAccess& access, const ThreadAccess& thread,
                                     std::uint64_t offset_bytes) const {
  const ObservedMemory& memory = kernel_.memories[access.memory];
  const std::uint64_t element = (offset_bytes - memory.offset_bytes) / memory.element_bytes;
  return fmt::format("thread {} of group {} {} element {} of {}, byte {} of {}{}", thread.thread, group_,
                     present(access.kind), element, memory.name, offset_bytes,
                     memory.kind == MemoryKind::kBuffer ? "the " : "", to_text(memory.kind)) +
         (memory.kind == MemoryKind::kBuffer ? "" : " memory");
}

}  // namespace millrace
