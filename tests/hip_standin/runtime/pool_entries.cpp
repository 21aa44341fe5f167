// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "tests/hip_standin/runtime/call.h"
#include "tests/hip_standin/runtime/places.h"
#include "tests/hip_standin/runtime/schedule.h"

namespace millrace::hip {
namespace {

using namespace hip_standin;  // whose place this is in

/// Finds the device of a pool. kSuccess; or an error, and a finding, if there is no such pool.
Error find_pool(State& state, Call& call, MemoryPool handle, std::shared_ptr<Pool>& pool) {
  pool = state.pools.share(handle);
  if (pool == nullptr) return misuse(state, call, Error::kInvalidValue, "a memory pool that is not there");
  return about_device(state, call, pool->device);
}

/// Takes memory for `bytes` more from the device, unless the pool has kept enough.
bool reserve(State& state, Pool& pool, std::uint64_t bytes) {
  DeviceState& device = state.devices[static_cast<std::size_t>(pool.device)];
  const std::uint64_t kept = pool.reserved_bytes - pool.used_bytes;
  const std::uint64_t needed = bytes > kept ? bytes - kept : 0;
  if (needed > device.free_bytes()) return false;
  device.used_bytes += needed;
  pool.reserved_bytes += needed;
  return true;
}

}  // namespace

Error hipMemPoolCreate(MemoryPool* handle, const MemoryPoolProperties* properties) {
  return call(Entry::hipMemPoolCreate, [&](State& state, Call& call) {
    const bool is_pinned_device_memory = properties->allocation_type == kMemoryAllocationPinned &&
                                         properties->location_type == kMemoryLocationDevice &&
                                         properties->handle_types == 0 && properties->security_attributes == nullptr;
    const auto is_zero = [](unsigned char byte) { return byte == 0; };
    if (!is_pinned_device_memory || !std::ranges::all_of(properties->reserved, is_zero)) return Error::kInvalidValue;
    MILLRACE_HIP_TRY(about_device(state, call, properties->location_id));
    if (!state.devices[static_cast<std::size_t>(call.device)].options.has_memory_pools) return Error::kNotSupported;
    auto pool = std::make_shared<Pool>(Pool{.device = call.device});
    pool->number = state.pools.add(pool);
    *handle = state.pools.handle_of<MemoryPool>(pool->number);
    return Error::kSuccess;
  });
}

Error hipMemPoolDestroy(MemoryPool handle) {
  return call(Entry::hipMemPoolDestroy, [&](State& state, Call& call) {
    std::shared_ptr<Pool> pool;
    const Error error = find_pool(state, call, handle, pool);
    if (pool == nullptr) return error;
    if (pool->num_live > 0) {
      misuse(state, call, Error::kSuccess, fmt::format("{} allocations of it were not released", pool->num_live));
    }
    pool->release_threshold = 0;
    trim(state, *pool, 0);
    state.pools.remove(handle);
    return Error::kSuccess;
  });
}

Error hipMemPoolSetAttribute(MemoryPool handle, PoolAttribute attribute, void* value) {
  return call(Entry::hipMemPoolSetAttribute, [&](State& state, Call& call) {
    std::shared_ptr<Pool> pool;
    MILLRACE_HIP_TRY(find_pool(state, call, handle, pool));
    if (attribute != PoolAttribute::kReleaseThreshold) return Error::kInvalidValue;
    std::memcpy(&pool->release_threshold, value, sizeof(pool->release_threshold));
    return Error::kSuccess;
  });
}

Error hipMemPoolTrimTo(MemoryPool handle, std::size_t bytes_to_hold) {
  return call(Entry::hipMemPoolTrimTo, [&](State& state, Call& call) {
    std::shared_ptr<Pool> pool;
    MILLRACE_HIP_TRY(find_pool(state, call, handle, pool));
    trim(state, *pool, bytes_to_hold);
    return Error::kSuccess;
  });
}

Error hipMallocFromPoolAsync(void** pointer, std::size_t bytes, MemoryPool handle, Stream stream_handle) {
  return call(Entry::hipMallocFromPoolAsync, [&](State& state, Call& call) {
    call.bytes = bytes;
    *pointer = nullptr;
    StreamState* const stream = find_stream(state, call, stream_handle);
    if (stream == nullptr) return Error::kInvalidHandle;
    std::shared_ptr<Pool> pool;
    MILLRACE_HIP_TRY(find_pool(state, call, handle, pool));
    if (pool->device != stream->device) {
      return misuse(state, call, Error::kInvalidValue, "the pool and the stream are of different devices");
    }
    if (bytes == 0) return Error::kSuccess;
    const std::uint64_t charged = round_to_pages(bytes);
    if (bytes > charged) return Error::kOutOfMemory;
    if (!reserve(state, *pool, charged)) {
      if (!state.devices[static_cast<std::size_t>(pool->device)].options.pools_wait) return Error::kOutOfMemory;
      // Releases that are queued may give enough.
      ++state.num_hidden_waits;
      while (run_one(state)) continue;
      if (!reserve(state, *pool, charged)) return Error::kOutOfMemory;
    }
    const auto allocation = state.memory.allocate(pool->device, bytes);
    if (allocation == nullptr) return Error::kOutOfMemory;
    pool->used_bytes += charged;
    ++pool->num_live;
    allocation->pool = pool;
    allocation->has_begun = false;
    *pointer = reinterpret_cast<void*>(allocation->address);
    enqueue(state, *stream, QueuedAllocation{allocation});
    return Error::kSuccess;
  });
}

Error hipFreeAsync(void* pointer, Stream stream_handle) {
  return call(Entry::hipFreeAsync, [&](State& state, Call& call) {
    StreamState* const stream = find_stream(state, call, stream_handle);
    if (stream == nullptr) return Error::kInvalidHandle;
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    const auto allocation = state.memory.find(address);
    const bool is_live = allocation != nullptr && allocation->address == address && allocation->pool != nullptr &&
                         !allocation->is_released;
    if (!is_live) {
      return misuse(state, call, Error::kInvalidValue,
                    fmt::format("{:#x}: no live allocation of a pool begins here", address));
    }
    call.bytes = allocation->size_bytes;
    if (allocation->device != stream->device) {
      return misuse(state, call, Error::kInvalidValue, "the memory and the stream are of different devices");
    }
    --allocation->pool->num_live;
    if (state.devices[static_cast<std::size_t>(stream->device)].is_lost) {
      give_back(state, *allocation);
      return Error::kSuccess;
    }
    allocation->is_released = true;
    enqueue(state, *stream, QueuedRelease{allocation});
    return Error::kSuccess;
  });
}

}  // namespace millrace::hip
