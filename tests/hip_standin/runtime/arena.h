// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::hip_standin {

inline constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t round_to_pages(std::uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

/// Hands out addresses that are reserved without access. Each is handed out once; a page that is nobody's follows each
/// range.
class Arena {
 public:
  /// The first of `size_bytes` addresses, at the start of a page; 0 if none are free.
  std::uint64_t reserve(std::uint64_t size_bytes);

 private:
  static constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 32;
  std::uint64_t next_ = 0, end_ = 0;
};

/// Pages that the stand-in may use, all bytes `value`; null if none are free.
std::byte* map_pages(std::uint64_t size_bytes, int value);
void unmap_pages(std::byte*, std::uint64_t size_bytes);

/// Gives access to pages of an arena, or removes the access and discards their contents.
bool open_pages(std::uint64_t address, std::uint64_t size_bytes);
void close_pages(std::uint64_t address, std::uint64_t size_bytes);

}  // namespace millrace::hip_standin
