// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/hip_standin/runtime/call.h"
#include "tests/hip_standin/runtime/places.h"
#include "tests/hip_standin/runtime/schedule.h"

namespace millrace::hip {
namespace {

using namespace hip_standin;  // whose place this is in

std::uint64_t number_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// HIP's releases wait for everything that is queued on the device.
Error wait_for_device(State& state, const Call& call, int device) {
  if (is_idle(state, device)) return Error::kSuccess;
  ++state.num_hidden_waits;
  const bool is_done = run_until(state, [&] { return is_idle(state, device); });
  return is_done ? Error::kSuccess : would_block(state, call);
}

/// A finding if queued commands use the bytes.
void check_unused(State& state, const Call& call, std::uint64_t address, std::uint64_t size_bytes) {
  const std::string user = find_user(state, address, size_bytes);
  if (user.empty()) return;
  misuse(state, call, Error::kSuccess, fmt::format("{} bytes at {:#x}: {} uses them", size_bytes, address, user));
}

Error release_pinned(State& state, Call& call, const void* pointer, bool is_registered) {
  const std::uint64_t address = number_of(pointer);
  const PinnedRange* const found = state.memory.find_pinned(address, 1);
  if (found == nullptr || found->address != address || found->is_registered != is_registered) {
    const Error error = is_registered ? Error::kHostMemoryNotRegistered : Error::kInvalidValue;
    return misuse(state, call, error, fmt::format("{:#x}: no memory that it releases begins here", address));
  }
  const PinnedRange range = *found;
  call.bytes = range.size_bytes;
  check_unused(state, call, range.address, range.size_bytes);
  for (std::size_t i = 0; i < state.devices.size(); ++i) {
    MILLRACE_HIP_TRY(wait_for_device(state, call, static_cast<int>(i)));
  }
  state.memory.release_pinned(range);
  return Error::kSuccess;
}

}  // namespace

Error hipMalloc(void** pointer, std::size_t bytes) {
  return call(Entry::hipMalloc, [&](State& state, Call& call) {
    call.bytes = bytes;
    MILLRACE_HIP_TRY(about_device(state, call, state.current_device()));
    *pointer = nullptr;
    if (bytes == 0) return Error::kSuccess;
    DeviceState& device = state.devices[static_cast<std::size_t>(call.device)];
    if (bytes > device.free_bytes() || round_to_pages(bytes) > device.free_bytes()) return Error::kOutOfMemory;
    const auto allocation = state.memory.allocate(call.device, bytes);
    if (allocation == nullptr) return Error::kOutOfMemory;
    device.used_bytes += allocation->charged_bytes();
    *pointer = reinterpret_cast<void*>(allocation->address);
    return Error::kSuccess;
  });
}

Error hipFree(void* pointer) {
  return call(Entry::hipFree, [&](State& state, Call& call) {
    if (pointer == nullptr) return Error::kSuccess;
    const std::uint64_t address = number_of(pointer);
    const auto allocation = state.memory.find(address);
    const bool is_live = allocation != nullptr && allocation->address == address && !allocation->is_released &&
                         allocation->pool == nullptr;
    if (!is_live) {
      return misuse(state, call, Error::kInvalidValue,
                    fmt::format("{:#x}: no live allocation of hipMalloc begins here", address));
    }
    call.device = allocation->device;
    call.bytes = allocation->size_bytes;
    check_unused(state, call, address, allocation->size_bytes);
    MILLRACE_HIP_TRY(wait_for_device(state, call, allocation->device));
    Memory::release(*allocation);
    state.devices[static_cast<std::size_t>(allocation->device)].used_bytes -= allocation->charged_bytes();
    return Error::kSuccess;
  });
}

Error hipMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return call(Entry::hipMemGetInfo, [&](State& state, Call& call) {
    MILLRACE_HIP_TRY(about_device(state, call, state.current_device()));
    const DeviceState& device = state.devices[static_cast<std::size_t>(call.device)];
    *free_bytes = device.free_bytes();
    *total_bytes = device.options.memory_bytes;
    return Error::kSuccess;
  });
}

Error hipHostMalloc(void** pointer, std::size_t bytes, unsigned flags) {
  return call(Entry::hipHostMalloc, [&](State& state, Call& call) {
    call.bytes = bytes;
    MILLRACE_HIP_TRY(about_device(state, call, state.current_device()));
    *pointer = nullptr;
    if (flags != kHostMallocDefault) return Error::kInvalidValue;
    if (bytes == 0) return Error::kSuccess;
    *pointer = reinterpret_cast<void*>(state.memory.allocate_pinned(bytes));
    return *pointer == nullptr ? Error::kOutOfMemory : Error::kSuccess;
  });
}

Error hipHostFree(void* pointer) {
  return call(Entry::hipHostFree, [&](State& state, Call& call) {
    return pointer == nullptr ? Error::kSuccess : release_pinned(state, call, pointer, false);
  });
}

Error hipHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return call(Entry::hipHostRegister, [&](State& state, Call& call) {
    call.bytes = bytes;
    MILLRACE_HIP_TRY(about_device(state, call, state.current_device()));
    if (pointer == nullptr || bytes == 0 || flags != kHostRegisterDefault) return Error::kInvalidValue;
    if (state.memory.find(number_of(pointer)) != nullptr) {
      return misuse(state, call, Error::kInvalidValue, "memory of a device, expected the host's");
    }
    const bool is_known = state.memory.find_overlapping_pinned(number_of(pointer), bytes) != nullptr;
    if (is_known) return Error::kHostMemoryAlreadyRegistered;
    state.memory.register_pinned(number_of(pointer), bytes);
    return Error::kSuccess;
  });
}

Error hipHostUnregister(void* pointer) {
  return call(Entry::hipHostUnregister,
              [&](State& state, Call& call) { return release_pinned(state, call, pointer, true); });
}

Error hipPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  return call(Entry::hipPointerGetAttributes, [&](State& state, Call& call) {
    constexpr int kHost = 1, kDevice = 2;  // hipMemoryType of HIP 6
    *attributes = {};
    const auto allocation = state.memory.find(number_of(pointer));
    if (allocation != nullptr && !allocation->is_gone()) {
      call.device = allocation->device;
      *attributes = {.type = state.is_hip6() ? kDevice : kDevice - 1,
                     .device = allocation->device,
                     .device_pointer = const_cast<void*>(pointer),
                     .host_pointer = nullptr,
                     .is_managed = 0,
                     .allocation_flags = 0};
      return Error::kSuccess;
    }
    if (state.memory.find_pinned(number_of(pointer), 1) != nullptr) {
      *attributes = {.type = state.is_hip6() ? kHost : kHost - 1,
                     .device = 0,
                     .device_pointer = const_cast<void*>(pointer),
                     .host_pointer = const_cast<void*>(pointer),
                     .is_managed = 0,
                     .allocation_flags = 0};
      return Error::kSuccess;
    }
    attributes->device = -2;  // as HIP 6 says of memory that it does not know
    return state.is_hip6() ? Error::kSuccess : Error::kInvalidValue;
  });
}

}  // namespace millrace::hip
