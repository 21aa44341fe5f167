// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "hal/host/routines/topk/row_selector.h"

// Bit masks of the elements or groups that pass a limit.
namespace millrace {

/// Counts the bits that are set; on targets without popcnt, this is faster than a table. Source: Warren, "Hacker's
/// Delight", 2012, section 5-1.
inline std::int64_t count_ones(std::uint64_t x) {
  constexpr std::uint64_t kEach = 0x0101'0101'0101'0101;
  x -= x >> 1 & 0x55 * kEach;
  x = (x & 0x33 * kEach) + (x >> 2 & 0x33 * kEach);
  return static_cast<std::int64_t>(((x + (x >> 4)) & 0x0f * kEach) * kEach >> 56);
}

inline std::int64_t count_ones(const std::byte* bytes, std::int64_t num_bytes) {
  std::int64_t sum = 0;
  std::uint64_t word = 0;
  for (; num_bytes >= 8; num_bytes -= 8, bytes += 8) {
    std::memcpy(&word, bytes, 8);
    sum += count_ones(word);
  }
  word = 0;
  std::memcpy(&word, bytes, static_cast<std::size_t>(num_bytes));
  return sum + count_ones(word);
}

/// Calls do_it(index) for each element of a chunk whose bit MatchElements has set. `bits` has kBits bits per vector.
/// The chunk's first element has index `first`; from one vector to the next, indices grow by `vector_step`.
template <int kBits, class DoIt>
void for_each_match(const std::byte* bits, std::int64_t first, std::int64_t vector_step, const DoIt& do_it) {
  constexpr int kVectorsPerWord = 64 / kBits;
  for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; i += kVectorsPerWord, bits += 8) {
    std::uint64_t word;
    std::memcpy(&word, bits, sizeof(word));
    for (; word != 0; word &= word - 1) {
      const int bit = std::countr_zero(word);
      do_it(first + (i + bit / kBits) * vector_step + bit % kBits);
    }
  }
}

}  // namespace millrace
