// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace millrace {

/// Calls do_it(bytes) with the element size, which is known only at run time, as a compile-time constant. If do_it
/// needs a loop, put the loop into a function and pass do_it's captures as arguments: stored bytes may alias any
/// object, so the loop would reload captures in each iteration.
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

/// An unsigned integer of kBytes bytes.
template <std::int64_t kBytes>
using UnsignedOf = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t, std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

/// Writes two unsigned integers side by side, with one store if a register holds both: stores are the bottleneck of
/// gathering elements.
template <class Unsigned>
void store_pair(std::byte* to, Unsigned first, Unsigned second) {
  if constexpr (sizeof(Unsigned) < 8) {
    using Both = UnsignedOf<2 * std::int64_t{sizeof(Unsigned)}>;
    const auto both = static_cast<Both>(static_cast<Both>(second) << (8 * sizeof(Unsigned)) | first);
    std::memcpy(to, &both, sizeof(both));
  } else {
    std::memcpy(to, &first, sizeof(first));
    std::memcpy(to + sizeof(first), &second, sizeof(second));
  }
}

template <class Bytes>
void copy_strided_of(Bytes bytes, const std::byte* from, std::int64_t from_stride, std::byte* to,
                     std::int64_t to_stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_stride * bytes, from + i * from_stride * bytes, bytes);
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
  with_element_size(element_bytes,
                    [&](auto bytes) { copy_strided_of(bytes, from, from_stride, to, to_stride, count); });
}

template <class Bytes, class Number>
void copy_elements_of(Bytes bytes, const std::byte* elements, const Number* numbers, std::int64_t count,
                      std::byte* to) {
  using Element = UnsignedOf<Bytes::value>;
  const auto element = [elements, numbers](std::int64_t i) {
    Element result;
    std::memcpy(&result, elements + static_cast<std::int64_t>(numbers[i]) * Bytes::value, sizeof(result));
    return result;
  };
  std::int64_t i = 0;
  for (; i + 1 < count; i += 2) store_pair(to + i * bytes, element(i), element(i + 1));
  if (i < count) {
    const Element last = element(i);
    std::memcpy(to + i * bytes, &last, bytes);
  }
}

/// Copies the elements at these indices, side by side.
template <class Number>
void copy_elements(const std::byte* elements, std::int64_t element_bytes, const Number* numbers, std::int64_t count,
                   std::byte* to) {
  with_element_size(element_bytes, [&](auto bytes) { copy_elements_of(bytes, elements, numbers, count, to); });
}

}  // namespace millrace
