// SPDX-License-Identifier: Apache-2.0
#include "millrace/hal/buffer.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "base/guard_allocations.h"

namespace millrace {

Result<std::shared_ptr<Buffer>> Buffer::allocate(std::size_t size_bytes) {
  // No object may be larger: pointer differences in it would overflow.
  constexpr std::size_t kMaxBytes = std::numeric_limits<std::ptrdiff_t>::max() - kAlignment;
  // An empty buffer has an address of its own too, so that null always means "not given".
  void* data = nullptr;
  if (size_bytes <= kMaxBytes) {
    const std::size_t rounded = (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
    data = std::aligned_alloc(kAlignment, std::max(rounded, kAlignment));
  }
  if (data == nullptr) {
    return resource_exhausted(
        fmt::format("buffer: {} bytes of host memory are not to be had; free memory, or ask for "
                    "less",
                    size_bytes));
  }
  std::unique_ptr<void, void (*)(void*)> memory(data, std::free);
  return guard_allocations([&] { return fmt::format("buffer of {} bytes", size_bytes); },
                           [&]() -> Result<std::shared_ptr<Buffer>> {
                             auto buffer = std::make_shared<Buffer>(data, size_bytes, std::free);
                             memory.release();  // NOLINT(bugprone-unused-return-value): the buffer's now
                             return buffer;
                           });
}

std::shared_ptr<Buffer> Buffer::import_host(void* data, std::size_t size_bytes, Deleter deleter) {
  return std::make_shared<Buffer>(data, size_bytes, std::move(deleter));
}

}  // namespace millrace
