// SPDX-License-Identifier: Apache-2.0
// The fill command on host memory.
#include "hal/host/fill.h"

#include <algorithm>
#include <cstring>

namespace millrace {

void fill_memory(void* destination, std::size_t size_bytes, std::uint64_t pattern, std::uint32_t pattern_bytes) {
  if (size_bytes == 0) return;
  auto* bytes = static_cast<std::byte*>(destination);
  if (pattern_bytes == 1 || pattern == 0) {
    std::memset(bytes, static_cast<int>(pattern & 0xff), size_bytes);
    return;
  }
  // The bytes written so far are the source of the next copy. The source stops growing at 4 KiB, so that it stays in
  // the L1 cache.
  constexpr std::size_t kMaxCopyBytes = 4096;
  std::memcpy(bytes, &pattern, pattern_bytes);
  for (std::size_t written = pattern_bytes; written < size_bytes;) {
    const std::size_t chunk = std::min({written, kMaxCopyBytes, size_bytes - written});
    std::memcpy(bytes + written, bytes, chunk);
    written += chunk;
  }
}

}  // namespace millrace
