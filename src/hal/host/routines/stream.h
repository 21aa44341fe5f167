// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <emmintrin.h>

namespace millrace {

/// Results of so many bytes are written past the caches: about half of a large L3, because what is read again soon
/// should stay there.
inline constexpr std::int64_t kStreamFromBytes = 16 << 20;

/// Fills memory past the caches; others see it after an _mm_sfence.
template <class Element>
void stream_fill(Element* to, Element* end, Element element) {
  constexpr std::size_t kVectorBytes = sizeof(__m128i);
  Element elements[kVectorBytes / sizeof(Element)];
  std::ranges::fill(elements, element);
  __m128i vector;
  std::memcpy(&vector, elements, sizeof(vector));
  for (; to != end && reinterpret_cast<std::uintptr_t>(to) % kVectorBytes != 0; ++to) *to = element;
  for (; end - to >= std::ssize(elements); to += std::ssize(elements)) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), vector);
  }
  std::fill(to, end, element);
}

}  // namespace millrace
