// SPDX-License-Identifier: Apache-2.0
// Replaces malloc and its relatives in the whole process, libLLVM included: the program's definitions precede the C
// library's.
#include "tests/llvm_memory/failing_malloc.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <link.h>
#include <sys/auxv.h>

namespace {

std::atomic<bool> counts = false;
std::atomic<std::uint64_t> count = 0;
std::uint64_t first_failing = 0, end_failing = 0;
thread_local bool is_asking_thread = false;

struct Code {
  std::uintptr_t begin = 0, end = 0;
};

Code find_dynamic_linker() {
  Code code{.begin = getauxval(AT_BASE)};
  const auto find_end = [](dl_phdr_info* object, std::size_t, void* found) {
    auto& linker = *static_cast<Code*>(found);
    if (object->dlpi_addr != linker.begin) return 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const auto& segment = object->dlpi_phdr[i];
      linker.end = std::max<std::uintptr_t>(linker.end, object->dlpi_addr + segment.p_vaddr + segment.p_memsz);
    }
    return 1;
  };
  dl_iterate_phdr(find_end, &code);
  return code;
}

Code dynamic_linker;

bool fails(const void* caller) {
  if (!counts.load(std::memory_order_relaxed) || is_asking_thread) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (address >= dynamic_linker.begin && address < dynamic_linker.end) return false;
  const std::uint64_t number = count.fetch_add(1, std::memory_order_relaxed);
  if (number < first_failing || number >= end_failing) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

namespace millrace::test {

void fail_malloc_of_other_threads(std::uint64_t first, bool and_all_after) {
  is_asking_thread = true;
  dynamic_linker = find_dynamic_linker();
  first_failing = first;
  end_failing = and_all_after ? UINT64_MAX : first + 1;
  count = 0;
  counts = true;
}

void stop_failing() { counts = false; }

std::uint64_t num_mallocs_of_other_threads() { return count; }

}  // namespace millrace::test

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) { return fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t num, std::size_t size) {
  return fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(num, size);
}
void* realloc(void* memory, std::size_t size) {
  return fails(__builtin_return_address(0)) ? nullptr : __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  return fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  if (fails(__builtin_return_address(0))) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}
