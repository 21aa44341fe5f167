// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace millrace {

inline constexpr std::ptrdiff_t kCacheLineBytes = 64;

/// Fetches the lines of memory that is read soon, where hardware does not know yet that it is.
inline void prefetch_to_read(const void* first, std::ptrdiff_t bytes) {
  const char* const data = static_cast<const char*>(first);
  for (std::ptrdiff_t i = 0; i < bytes; i += kCacheLineBytes) __builtin_prefetch(data + i, 0);
}
/// The same for memory that is written soon. Stores wait in order, so that one which misses the caches holds up others.
inline void prefetch_to_write(void* first, std::ptrdiff_t bytes) {
  char* const data = static_cast<char*>(first);
  for (std::ptrdiff_t i = 0; i < bytes; i += kCacheLineBytes) __builtin_prefetch(data + i, 1);
}

}  // namespace millrace
