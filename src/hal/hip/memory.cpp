// SPDX-License-Identifier: Apache-2.0
// Device and pinned memory, cached by size, because HIP's own allocations and frees stall the device.
#include "hal/hip/memory.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace millrace::hip {
namespace {

constexpr std::size_t kSmallestClass = 512;
constexpr std::size_t kMaxLostBytes = std::size_t{2} << 20;
constexpr std::chrono::seconds kFreeLimit{1};

/// Eight size classes between powers of two, and more for large sizes: an allocation wastes at most an eighth, and at
/// most 2 MiB.
std::size_t size_class_of(std::size_t size_bytes) {
  if (size_bytes <= kSmallestClass) return kSmallestClass;
  const std::size_t step = std::clamp(std::bit_floor(size_bytes - 1) / 8, kSmallestClass, kMaxLostBytes);
  return size_bytes > SIZE_MAX - step ? size_bytes : (size_bytes + step - 1) / step * step;
}

}  // namespace

Result<std::shared_ptr<DeviceMemory>> DeviceMemory::create(std::shared_ptr<Context> context) {
  auto memory = std::make_shared<DeviceMemory>(context);
  if (context->facts().has_memory_pools) MILLRACE_TRY(memory->use_pool());
  return memory;
}

Status DeviceMemory::use_pool() {
  const Runtime& hip = context_->hip();
  const std::string where = fmt::format("device '{}'", context_->name());
  MILLRACE_TRY_ASSIGN(stream_, OwnedStream::create(context_));
  MILLRACE_TRY(context_->check(where, "hipEventCreateWithFlags",
                               hip.hipEventCreateWithFlags(&last_allocation_, kEventDisableTiming)));
  const MemoryPoolProperties properties{.allocation_type = kMemoryAllocationPinned,
                                        .handle_types = 0,
                                        .location_type = kMemoryLocationDevice,
                                        .location_id = context_->facts().ordinal,
                                        .security_attributes = nullptr,
                                        .reserved = {}};
  MILLRACE_TRY(context_->check(where, "hipMemPoolCreate", hip.hipMemPoolCreate(&pool_, &properties)));
  std::uint64_t threshold = max_cached_bytes();  // by default, each synchronisation frees all cached memory
  return context_->check(where, "hipMemPoolSetAttribute",
                         hip.hipMemPoolSetAttribute(pool_, PoolAttribute::kReleaseThreshold, &threshold));
}

DeviceMemory::~DeviceMemory() {
  if (stream_ != nullptr) end_pool();
  trim(0);
  if (last_allocation_ != nullptr) context_->release([&] { return context_->hip().hipEventDestroy(last_allocation_); });
  if (pool_ != nullptr) context_->release([&] { return context_->hip().hipMemPoolDestroy(pool_); });
}

/// Waits until the queued frees have happened, because only some versions of HIP wait for them when destroying a pool.
void DeviceMemory::end_pool() {
  const Runtime& hip = context_->hip();
  const auto has_come_about = [&] {
    return hip.hipEventRecord(last_allocation_, stream_->get()) == Error::kSuccess &&
           wait_for_event(*context_, "close", last_allocation_, kCloseLimit).ok();
  };
  if (pool_ == nullptr || context_->is_lost() || has_come_about()) return;
  // Wait once more, because one refused call says nothing about the device.
  if (!has_come_about()) context_->release([] { return Error::kUnknown; });
}

Error DeviceMemory::try_allocate(std::size_t size_class, void*& address, std::string_view& entry) {
  const Runtime& hip = context_->hip();
  if (pool_ == nullptr) {
    entry = "hipMalloc";
    return hip.hipMalloc(&address, size_class);
  }
  entry = "hipMallocFromPoolAsync";
  return hip.hipMallocFromPoolAsync(&address, size_class, pool_, stream_->get());
}

Result<void*> DeviceMemory::allocate(std::size_t size_bytes) {
  void* address = nullptr;
  if (size_bytes == 0) return address;
  const std::size_t size_class = size_class_of(size_bytes);
  const CurrentDevice current(*context_);
  MILLRACE_TRY(current.status());
  const std::lock_guard lock(mutex_);
  if (pool_ == nullptr) {
    address = cache_.take(size_class);
    if (address != nullptr) return address;
    cache_.add(size_class);
  }
  std::string_view entry;
  Error error = try_allocate(size_class, address, entry);
  if (error == Error::kOutOfMemory) {
    MILLRACE_TRY(wait_for_frees());
    trim(0);
    error = try_allocate(size_class, address, entry);
  }
  if (error != Error::kSuccess) {
    if (pool_ == nullptr) cache_.drop(size_class);
    return allocated(error, entry, size_bytes);
  }
  ++num_allocations_;
  return address;
}

/// Waits until the stream has freed its memory: a pool returns no memory before that, and only some versions of HIP
/// wait for it. The stream does nothing else, so this takes long only if the device is stuck.
Status DeviceMemory::wait_for_frees() {
  if (pool_ == nullptr) return {};
  MILLRACE_TRY(
      context_->check("allocate", "hipEventRecord", context_->hip().hipEventRecord(last_allocation_, stream_->get())));
  return try_wait_for_event(*context_, "allocate", last_allocation_, kFreeLimit).status();
}

Status DeviceMemory::allocated(Error error, std::string_view entry, std::size_t size_bytes) {
  std::string where = fmt::format("allocate: {} bytes of device '{}'", size_bytes, context_->name());
  std::size_t free_bytes = 0, total_bytes = 0;
  if (!loses_device(error) && context_->hip().hipMemGetInfo(&free_bytes, &total_bytes) == Error::kSuccess) {
    where += fmt::format(", which has {} of {} free", free_bytes, total_bytes);
  }
  return context_->check(where, entry, error);
}

void DeviceMemory::free(void* address, std::size_t size_bytes) {
  if (address == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (pool_ != nullptr) {
    context_->release([&] { return context_->hip().hipFreeAsync(address, stream_->get()); });
    return;
  }
  cache_.give_back(address, size_class_of(size_bytes));
  if (cache_.bytes() > max_cached_bytes()) trim(max_cached_bytes() / 2);
}

void DeviceMemory::trim(std::size_t bytes_to_keep) {
  const Runtime& hip = context_->hip();
  if (pool_ != nullptr) {
    context_->release([&] { return hip.hipMemPoolTrimTo(pool_, bytes_to_keep); });
    return;
  }
  cache_.trim(bytes_to_keep, [&](void* block) { context_->release([&] { return hip.hipFree(block); }); });
}

Status DeviceMemory::order_after_allocations(Stream stream, std::uint64_t& seen) {
  if (pool_ == nullptr) return {};
  const Runtime& hip = context_->hip();
  const std::lock_guard lock(mutex_);
  if (seen == num_allocations_) return {};
  if (num_recorded_ != num_allocations_) {
    MILLRACE_TRY(context_->check("submit", "hipEventRecord", hip.hipEventRecord(last_allocation_, stream_->get())));
    num_recorded_ = num_allocations_;
  }
  MILLRACE_TRY(context_->check("submit", "hipStreamWaitEvent", hip.hipStreamWaitEvent(stream, last_allocation_, 0)));
  seen = num_allocations_;
  return {};
}

Result<std::unique_ptr<DeviceBlock>> DeviceBlock::allocate(std::shared_ptr<DeviceMemory> memory,
                                                           std::size_t size_bytes) {
  auto block = std::make_unique<DeviceBlock>(memory, nullptr, size_bytes);  // first, so that a failure leaks nothing
  MILLRACE_TRY_ASSIGN(block->address_, memory->allocate(size_bytes));
  return block;
}

PinnedMemory::~PinnedMemory() {
  cache_.trim(0, [&](std::byte* block) { context_->release_host([&] { return context_->hip().hipHostFree(block); }); });
}

Result<std::shared_ptr<std::byte>> PinnedMemory::allocate(std::size_t size_bytes) {
  const std::size_t size_class = size_class_of(size_bytes);
  std::byte* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    block = cache_.take(size_class);
    if (block == nullptr) cache_.add(size_class);
  }
  if (block == nullptr) {
    Result<std::byte*> made = make(size_class);
    if (!made.ok()) {
      const std::lock_guard lock(mutex_);
      cache_.drop(size_class);
      return made.status();
    }
    block = *made;
  }
  return std::shared_ptr<std::byte>(
      block, [memory = shared_from_this(), size_class](std::byte* used) { memory->free(used, size_class); });
}

Result<std::byte*> PinnedMemory::make(std::size_t size_class) {
  const CurrentDevice current(*context_);
  MILLRACE_TRY(current.status());
  void* block = nullptr;
  const Error error = context_->hip().hipHostMalloc(&block, size_class, kHostMallocDefault);
  MILLRACE_TRY(
      context_->check(fmt::format("allocate: {} bytes of pinned host memory", size_class), "hipHostMalloc", error));
  return static_cast<std::byte*>(block);
}

void PinnedMemory::free(std::byte* block, std::size_t size_class) {
  const std::lock_guard lock(mutex_);
  cache_.give_back(block, size_class);
  cache_.trim(kMaxCachedBytes,
              [&](std::byte* each) { context_->release_host([&] { return context_->hip().hipHostFree(each); }); });
}

}  // namespace millrace::hip
