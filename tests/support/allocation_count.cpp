// SPDX-License-Identifier: Apache-2.0
#include "tests/support/allocation_count.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

thread_local std::uint64_t count = 0;
thread_local std::int64_t num_live = 0;
// The numbers of allocations that fail, as `count` counts them.
thread_local std::uint64_t first_failing = UINT64_MAX, end_failing = UINT64_MAX;

}  // namespace

namespace millrace {
std::uint64_t num_allocations() { return count; }
std::int64_t num_live_allocations() { return num_live; }

FailingAllocation::FailingAllocation(std::uint64_t num_before, Failing which) {
  first_failing = count + num_before;
  end_failing = which == Failing::kOne ? first_failing + 1 : UINT64_MAX;
}
FailingAllocation::~FailingAllocation() { first_failing = end_failing = UINT64_MAX; }
}  // namespace millrace

#ifndef MILLRACE_THREAD_SANITIZED
namespace {

/// No test takes as much. Beyond it, AddressSanitizer would end the process, and some systems promise the memory.
constexpr std::size_t kMaxBytes = std::size_t{1} << 38;

/// Null if no memory is left.
void* counted_or_null(std::size_t size, std::size_t alignment) {
  const std::uint64_t number = count++;
  if ((number >= first_failing && number < end_failing) || size > kMaxBytes) return nullptr;
  // aligned_alloc wants a multiple of the alignment; operator new gives an address for 0 bytes too.
  const std::size_t rounded = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
  void* memory = rounded < size ? nullptr : std::aligned_alloc(alignment, rounded);
  num_live += memory != nullptr ? 1 : 0;
  return memory;
}

void release(void* memory) {
  num_live -= memory != nullptr ? 1 : 0;
  std::free(memory);
}

void* counted(std::size_t size, std::size_t alignment) {
  void* memory = counted_or_null(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Every form: the standard library's others call the first, but a sanitizer's do not.
void* operator new(std::size_t size) { return counted(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size) { return counted(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_null(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_null(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted_or_null(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted_or_null(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept { release(memory); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
#endif
