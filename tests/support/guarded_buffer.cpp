// SPDX-License-Identifier: Apache-2.0
#include "tests/support/guarded_buffer.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "millrace/base/check.h"

namespace millrace::test {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

GuardedBuffer::GuardedBuffer(std::size_t size_bytes, Guard guard) : size_bytes_(size_bytes) {
  const std::size_t page = page_bytes();
  const std::size_t inner = std::max(page, (size_bytes + page - 1) / page * page);
  map_bytes_ = inner + 2 * page;
  void* map = mmap(nullptr, map_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MILLRACE_CHECK(map != MAP_FAILED);
  map_ = static_cast<std::byte*>(map);
  MILLRACE_CHECK(mprotect(map_ + page, inner, PROT_READ | PROT_WRITE) == 0);
  std::memset(map_ + page, static_cast<int>(kUntouched), inner);
  data_ = guard == Guard::kAfter ? map_ + page + inner - size_bytes : map_ + page;
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : map_(std::exchange(other.map_, nullptr)),
      map_bytes_(other.map_bytes_),
      data_(other.data_),
      size_bytes_(other.size_bytes_) {}

GuardedBuffer::~GuardedBuffer() {
  if (map_) munmap(map_, map_bytes_);
}

void GuardedBuffer::make_read_only() {
  const std::size_t page = page_bytes();
  MILLRACE_CHECK(mprotect(map_ + page, map_bytes_ - 2 * page, PROT_READ) == 0);
}

bool GuardedBuffer::is_slack_intact() const {
  const std::byte* first = map_ + page_bytes();
  const std::byte* end = map_ + map_bytes_ - page_bytes();
  const auto untouched = [](std::byte value) { return value == kUntouched; };
  return std::all_of(first, static_cast<const std::byte*>(data_), untouched) &&
         std::all_of(static_cast<const std::byte*>(data_ + size_bytes_), end, untouched);
}

}  // namespace millrace::test
