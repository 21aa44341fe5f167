// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "hal/hip/handles.h"

namespace millrace::hip {

/// Unused blocks of memory, by size class. Returning a block allocates nothing.
template <class T>
class BlockCache {
 public:
  /// Null if no block of the class is free; the caller then calls add() and makes one.
  T* take(std::size_t size_class) {
    std::vector<T*>& free = classes_[size_class].free;
    if (free.empty()) return nullptr;
    T* block = free.back();
    free.pop_back();
    bytes_ -= size_class;
    return block;
  }
  /// Makes room for one more block of the class.
  void add(std::size_t size_class) {
    Class& same = classes_[size_class];
    same.free.reserve(same.num_made + 1);
    ++same.num_made;
  }
  /// Undoes add(), because the block could not be made.
  void drop(std::size_t size_class) { --classes_[size_class].num_made; }
  void give_back(T* block, std::size_t size_class) {
    classes_[size_class].free.push_back(block);
    bytes_ += size_class;
  }
  /// Calls `release` for blocks, the largest first, until at most this many bytes are left.
  template <class Release>
  void trim(std::size_t bytes_to_keep, Release&& release) {
    for (auto each = classes_.rbegin(); each != classes_.rend(); ++each) {
      auto& [size_class, blocks] = *each;
      for (; !blocks.free.empty() && bytes_ > bytes_to_keep; blocks.free.pop_back()) {
        release(blocks.free.back());
        bytes_ -= size_class;
        --blocks.num_made;
      }
    }
  }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Class {
    std::vector<T*> free;
    std::size_t num_made = 0;
  };
  std::map<std::size_t, Class> classes_;
  std::size_t bytes_ = 0;
};

/// The device's memory, from a pool of the runtime if it has pools, otherwise from hipMalloc. Freed memory is kept for
/// the next allocation of its size class, because hipFree waits for all work of the device. Thread-safe.
class DeviceMemory {
 public:
  static Result<std::shared_ptr<DeviceMemory>> create(std::shared_ptr<Context>);
  explicit DeviceMemory(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  /// Null for 0 bytes. When memory runs out, waits for queued frees, returns cached memory to the system, and tries
  /// once more. Fails with the wanted size and the free size.
  Result<void*> allocate(std::size_t size_bytes);
  /// Precondition: no work uses the memory any more.
  void free(void* address, std::size_t size_bytes);

  /// Lets later work in the stream use all memory that was allocated so far. `seen` belongs to the stream, and is 0 at
  /// first.
  Status order_after_allocations(Stream stream, std::uint64_t& seen);

 private:
  Status use_pool();
  void end_pool();
  Error try_allocate(std::size_t size_class, void*& address, std::string_view& entry);
  Status wait_for_frees();
  Status allocated(Error, std::string_view entry, std::size_t size_bytes);
  /// Returns cached memory to the system until at most this many bytes are left.
  void trim(std::size_t bytes_to_keep);
  std::size_t max_cached_bytes() const { return context_->facts().memory_bytes / 8; }

  std::shared_ptr<Context> context_;
  std::mutex mutex_;
  // With pools:
  MemoryPool pool_ = nullptr;
  std::shared_ptr<OwnedStream> stream_;  // orders allocations; no other work uses it
  Event last_allocation_ = nullptr;
  std::uint64_t num_allocations_ = 0;
  std::uint64_t num_recorded_ = 0;  // the number of allocations when `last_allocation_` was last recorded
  // Without pools:
  BlockCache<void> cache_;
};

/// A piece of device memory, freed with its owner.
class DeviceBlock {
 public:
  static Result<std::unique_ptr<DeviceBlock>> allocate(std::shared_ptr<DeviceMemory> memory, std::size_t size_bytes);
  DeviceBlock(std::shared_ptr<DeviceMemory> memory, void* address, std::size_t size_bytes)
      : memory_(std::move(memory)), address_(address), size_bytes_(size_bytes) {}
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  ~DeviceBlock() { memory_->free(address_, size_bytes_); }
  void* address() const { return address_; }

 private:
  std::shared_ptr<DeviceMemory> memory_;
  void* address_;
  std::size_t size_bytes_;
};

/// Pinned host memory, kept for its next use by size class. Thread-safe.
class PinnedMemory : public std::enable_shared_from_this<PinnedMemory> {
 public:
  explicit PinnedMemory(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory();

  /// The memory returns to the cache with its last owner, who must know that no work uses it any more.
  Result<std::shared_ptr<std::byte>> allocate(std::size_t size_bytes);

 private:
  static constexpr std::size_t kMaxCachedBytes = std::size_t{64} << 20;

  Result<std::byte*> make(std::size_t size_class);
  void free(std::byte* block, std::size_t size_class);

  std::shared_ptr<Context> context_;
  std::mutex mutex_;
  BlockCache<std::byte> cache_;
};

}  // namespace millrace::hip
