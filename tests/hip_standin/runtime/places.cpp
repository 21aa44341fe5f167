// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/runtime/places.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace::hip_standin {
namespace {

Place mistaken(std::uint64_t address, std::uint64_t num_bytes, std::string_view what) {
  return {.mistake = fmt::format("{} bytes at {:#x}: {}", num_bytes, address, what)};
}

std::string_view life_text(const Allocation& allocation, When when) {
  if (allocation.is_gone()) return "they were released";
  if (allocation.is_released && when == When::kQueued) return "their release is queued";
  if (!allocation.has_begun && when == When::kRunning) return "their stream has not allocated them yet";
  return {};
}

}  // namespace

Place find_device(const State& state, int device, std::uint64_t address, std::uint64_t num_bytes, When when) {
  std::shared_ptr<Allocation> allocation = state.memory.find(address);
  if (allocation == nullptr) {
    const bool is_host = state.memory.find_pinned(address, 1) != nullptr;
    return mistaken(address, num_bytes, is_host ? "memory of the host, expected a device's" : "never allocated");
  }
  if (allocation->device != device) {
    return mistaken(address, num_bytes, fmt::format("memory of device {}, expected {}", allocation->device, device));
  }
  if (const std::string_view wrong = life_text(*allocation, when); !wrong.empty()) {
    return mistaken(address, num_bytes, wrong);
  }
  const std::uint64_t offset = address - allocation->address;
  if (num_bytes > allocation->size_bytes - offset) {
    return mistaken(address, num_bytes,
                    fmt::format("they reach past the end of an allocation of {} bytes", allocation->size_bytes));
  }
  return {.bytes = allocation->bytes + offset, .allocation = std::move(allocation)};
}

Place find_host(const State& state, std::uint64_t address, std::uint64_t num_bytes) {
  if (state.memory.find(address) != nullptr) {
    return mistaken(address, num_bytes, "memory of a device, expected the host's");
  }
  if (state.memory.find_pinned(address, num_bytes) == nullptr) {
    return mistaken(address, num_bytes, "memory of the host that is neither pinned nor registered");
  }
  return {.bytes = reinterpret_cast<std::byte*>(address)};
}

std::string find_user(const State& state, std::uint64_t address, std::uint64_t num_bytes) {
  for (const auto& [number, stream] : state.streams) {
    const auto uses = [&](const QueuedCommand& command) { return touches(command, address, num_bytes); };
    if (std::ranges::any_of(stream->commands, uses)) return fmt::format("stream {}", number);
  }
  return {};
}

void give_back(State& state, Allocation& allocation) {
  Pool& pool = *allocation.pool;
  pool.used_bytes -= allocation.charged_bytes();
  Memory::release(allocation);
  trim(state, pool, pool.release_threshold);
}

void trim(State& state, Pool& pool, std::uint64_t bytes_to_keep) {
  const std::uint64_t kept = std::min(pool.reserved_bytes, std::max(pool.used_bytes, bytes_to_keep));
  state.devices[static_cast<std::size_t>(pool.device)].used_bytes -= pool.reserved_bytes - kept;
  pool.reserved_bytes = kept;
}

}  // namespace millrace::hip_standin
