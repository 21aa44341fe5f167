// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/hal/buffer_binding.h"

namespace millrace {

/// Names memory of the test's own.
template <class T>
BufferBinding bind(std::vector<T>& values) {
  return {.data = values.data(), .size_bytes = values.size() * sizeof(T)};
}

}  // namespace millrace
