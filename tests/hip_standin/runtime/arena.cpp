// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/runtime/arena.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace millrace::hip_standin {
namespace {

constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* pages_at(std::uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

std::uint64_t Arena::reserve(std::uint64_t size_bytes) {
  const std::uint64_t needed = round_to_pages(size_bytes) + kPageBytes;
  if (end_ - next_ < needed) {
    const std::uint64_t chunk = std::max(needed, kChunkBytes);
    void* const begin = mmap(nullptr, chunk, PROT_NONE, kFlags, -1, 0);
    if (begin == MAP_FAILED) return 0;
    next_ = reinterpret_cast<std::uint64_t>(begin);
    end_ = next_ + chunk;
  }
  const std::uint64_t address = next_;
  next_ += needed;
  return address;
}

std::byte* map_pages(std::uint64_t size_bytes, int value) {
  void* const pages = mmap(nullptr, round_to_pages(size_bytes), PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  std::memset(pages, value, size_bytes);
  return static_cast<std::byte*>(pages);
}

void unmap_pages(std::byte* pages, std::uint64_t size_bytes) { munmap(pages, round_to_pages(size_bytes)); }

bool open_pages(std::uint64_t address, std::uint64_t size_bytes) {
  return mprotect(pages_at(address), round_to_pages(size_bytes), PROT_READ | PROT_WRITE) == 0;
}

void close_pages(std::uint64_t address, std::uint64_t size_bytes) {
  mmap(pages_at(address), round_to_pages(size_bytes), PROT_NONE, kFlags | MAP_FIXED, -1, 0);
}

}  // namespace millrace::hip_standin
