// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/base/byte_range.h"

namespace millrace::test {

/// Whether the range has its byte number `i`, as told by its rows.
inline bool has_byte(const ByteRange& range, std::int64_t i, const SymbolValues& symbols) {
  for (const auto& [pitch, row] : range.rows) {
    i %= pitch.evaluate(symbols).value();
    if (i >= row.evaluate(symbols).value()) return false;
  }
  return true;
}

/// A bit for each of 64 bytes, in which the range lies.
inline std::uint64_t bits_of(const ByteRange& range, const SymbolValues& symbols) {
  const std::int64_t begin = range.offset_bytes.evaluate(symbols).value();
  const std::int64_t length = range.length_bytes.evaluate(symbols).value();
  std::uint64_t bits = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    if (has_byte(range, i, symbols)) bits |= std::uint64_t{1} << (begin + i);
  }
  return bits;
}

}  // namespace millrace::test
