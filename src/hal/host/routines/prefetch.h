// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace millrace {

inline constexpr std::ptrdiff_t kCacheLineBytes = 64;

/// Prefetches memory that is read soon, for accesses that the hardware prefetcher cannot foresee.
inline void prefetch_to_read(const void* first, std::ptrdiff_t bytes) {
  const char* const data = static_cast<const char*>(first);
  for (std::ptrdiff_t i = 0; i < bytes; i += kCacheLineBytes) __builtin_prefetch(data + i, 0);
}
/// Prefetches memory that is written soon. Stores retire in order, so a store that misses the caches delays all later
/// stores.
inline void prefetch_to_write(void* first, std::ptrdiff_t bytes) {
  char* const data = static_cast<char*>(first);
  for (std::ptrdiff_t i = 0; i < bytes; i += kCacheLineBytes) __builtin_prefetch(data + i, 1);
}

}  // namespace millrace
