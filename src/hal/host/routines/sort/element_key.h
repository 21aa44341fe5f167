// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "hal/host/routines/sort/counting_sort.h"
#include "hal/host/routines/sort/sort_rows.h"

// The order of single elements, by their bits.
namespace millrace {

/// The bits of an element of `bytes` bytes in memory.
inline std::uint64_t element_at(const StridedElements& elements, std::int64_t index, std::int64_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, elements.data + index * elements.stride * bytes, static_cast<std::size_t>(bytes));
  return bits;
}

/// The signed integer that orders a 64-bit element, as make_keys computes it.
inline std::int64_t whole_key(const SortRowsParameters& p, std::uint64_t bits) {
  auto key = static_cast<std::int64_t>(bits) ^ p.inverted_bits;
  if (p.magnitude_bits != 0) {
    const std::int64_t magnitude = key & p.magnitude_bits;
    key ^= (key >> 63) & p.magnitude_bits;
    if (magnitude == 0) key = 0;
    if (magnitude > p.infinity_bits) key = p.magnitude_bits;
  }
  return p.is_descending != 0 ? ~key : key;
}

/// The halves of an element's key, each as a signed number. The lower half has no sign, so its highest bit is inverted.
inline std::int64_t upper_half(std::int64_t key) { return key >> 32; }
inline std::uint64_t key_of_lower_half(std::int64_t key) {
  return static_cast<std::uint64_t>(key) << 32 ^ std::uint64_t{1} << 63;
}

inline bool is_zero(const SortRowsParameters& p, std::int64_t bits) {
  return p.magnitude_bits != 0 && (bits & p.magnitude_bits) == 0;
}
inline bool is_nan(const SortRowsParameters& p, std::int64_t bits) {
  return (bits & p.magnitude_bits) > p.infinity_bits;
}

}  // namespace millrace
