// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace millrace {

/// What a submission binds: memory and its length. Non-owning; the caller keeps it alive until the submission has
/// ended.
struct BufferBinding {
  void* data = nullptr;
  std::size_t size_bytes = 0;
};

}  // namespace millrace
