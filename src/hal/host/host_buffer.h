// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "millrace/base/status.h"
#include "millrace/hal/buffer.h"
#include "millrace/hal/buffer_binding.h"

namespace millrace {

/// Allocates a buffer in host memory, for a device that can address it. The memory is uninitialised, and aligned to
/// `alignment`, a power of two of at least Buffer::kAlignment. Fails with kResourceExhausted, naming the size, if there
/// is not enough memory.
Result<std::shared_ptr<Buffer>> allocate_host_buffer(std::size_t size_bytes, DeviceId device = {},
                                                     std::size_t alignment = Buffer::kAlignment);

/// Wraps memory that the caller owns; `deleter`, which may be empty, runs once, when the last owner releases the
/// buffer.
std::shared_ptr<Buffer> import_host_buffer(void* data, std::size_t size_bytes, Buffer::Deleter deleter = {},
                                           DeviceId device = {});

/// The address of a binding's first byte, on a device that addresses host memory. It is an integer because an empty
/// binding may be null, and adding an offset to a null pointer is undefined.
inline std::uintptr_t host_address(const BufferBinding& binding) {
  if (binding.buffer == nullptr) return reinterpret_cast<std::uintptr_t>(binding.data);
  return reinterpret_cast<std::uintptr_t>(binding.buffer->host_address()) + binding.offset_bytes;
}

}  // namespace millrace
