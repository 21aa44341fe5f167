// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "millrace/base/check.h"

namespace millrace::test {

/// Memory that ends (or begins) at a page that may not be touched: code that reads or writes past it dies at once.
/// Sanitizers cannot see generated code, and an interpreter's wild address must not pass either.
class GuardedMemory {
 public:
  enum class Side { kEnd, kStart };

  GuardedMemory(std::size_t size_bytes, Side side) : size_(size_bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner = (size_bytes + page - 1) / page * page;
    mapped_bytes_ = inner + 2 * page;
    void* mapped = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MILLRACE_CHECK(mapped != MAP_FAILED);
    mapped_ = static_cast<std::byte*>(mapped);
    MILLRACE_CHECK(inner == 0 || mprotect(mapped_ + page, inner, PROT_READ | PROT_WRITE) == 0);
    data_ = mapped_ + page + (side == Side::kEnd ? inner - size_bytes : 0);
  }
  GuardedMemory(GuardedMemory&& other) noexcept
      : mapped_(std::exchange(other.mapped_, nullptr)),
        mapped_bytes_(other.mapped_bytes_),
        data_(other.data_),
        size_(other.size_) {}
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory() {
    if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
  }

  std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return size_; }
  void make_read_only() const { MILLRACE_CHECK(mprotect_pages(PROT_READ)); }

 private:
  bool mprotect_pages(int protection) const {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner = mapped_bytes_ - 2 * page;
    return inner == 0 || mprotect(mapped_ + page, inner, protection) == 0;
  }
  std::byte* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace millrace::test
