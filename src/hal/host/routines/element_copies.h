// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace millrace {

/// Calls do_it(bytes) with a constant for the size of elements, which is known only at run time.
template <class DoIt>
void with_element_size(std::int64_t element_bytes, const DoIt& do_it) {
  switch (element_bytes) {
    case 1:
      return do_it(std::integral_constant<std::int64_t, 1>());
    case 2:
      return do_it(std::integral_constant<std::int64_t, 2>());
    case 4:
      return do_it(std::integral_constant<std::int64_t, 4>());
    default:
      return do_it(std::integral_constant<std::int64_t, 8>());
  }
}

/// Copies elements at constant strides.
inline void copy_strided(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
                         std::int64_t count, std::int64_t element_bytes) {
  if (count <= 0) return;
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count * element_bytes));
    return;
  }
  with_element_size(element_bytes, [&](auto bytes) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(to + i * to_stride * bytes, from + i * from_stride * bytes, bytes);
    }
  });
}

/// Copies the elements with these numbers, side by side.
template <class Number>
void copy_elements(const std::byte* elements, std::int64_t element_bytes, const Number* numbers, std::int64_t count,
                   std::byte* to) {
  with_element_size(element_bytes, [&](auto bytes) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(to + i * bytes, elements + static_cast<std::int64_t>(numbers[i]) * bytes, bytes);
    }
  });
}

}  // namespace millrace
