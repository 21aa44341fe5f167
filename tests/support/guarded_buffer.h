// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "millrace/hal/buffer.h"

namespace millrace::test {

/// Memory that ends (or begins) exactly at a page without access, so that a read or write past that end is a fault
/// even from generated code, which no sanitizer sees. The other side is filled with a pattern that is checked.
class GuardedBuffer {
 public:
  enum class Guard : std::uint8_t { kAfter, kBefore };

  GuardedBuffer(std::size_t size_bytes, Guard guard);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;
  ~GuardedBuffer();

  std::byte* data() const { return data_; }
  std::span<std::byte> bytes() const { return {data_, size_bytes_}; }
  BufferBinding binding() const { return {data_, size_bytes_}; }
  /// From now on a write is a fault.
  void make_read_only();
  /// Whether nothing was written around the bytes on the side without a guard.
  bool is_slack_intact() const;

 private:
  std::byte* map_ = nullptr;  // guard page, pages, guard page
  std::size_t map_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

/// What untouched memory of a test holds: no small number in any dtype, and a NaN in no one's way.
inline constexpr std::byte kUntouched{0xa5};

}  // namespace millrace::test
