// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace millrace {

class Buffer;  // buffer.h

/// Memory that a submission uses: bytes of a device's buffer, or host memory. Non-owning: the caller keeps it alive and
/// does not touch it until the submission has ended. Creating one costs nothing: no allocation, no reference count, no
/// lock.
struct BufferBinding {
  void* data = nullptr;  // host memory; unused with a buffer
  std::size_t size_bytes = 0;
  const Buffer* buffer = nullptr;  // null: host memory
  std::size_t offset_bytes = 0;    // where the first byte is in `buffer`
};

}  // namespace millrace
