// SPDX-License-Identifier: Apache-2.0
// Splits text into UTF-8 characters, so that printable() can escape those that a terminal must not receive.
#include "base/text/character.h"

namespace millrace {
namespace {

/// Well-formed sequences of bytes. Source: Unicode, table 3-7.
struct Sequence {
  unsigned first_low, first_high, second_low, second_high;
  std::size_t num_bytes;
};
constexpr Sequence kSequences[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/// Whether all bytes after the second are continuation bytes.
bool are_continued(std::string_view bytes) {
  for (const char c : bytes) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) return false;
  }
  return true;
}

}  // namespace

Character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {1, first < 0x20 || first == 0x7f};
  for (const Sequence& sequence : kSequences) {
    if (first < sequence.first_low || first > sequence.first_high || text.size() < sequence.num_bytes) continue;
    const auto second = static_cast<unsigned char>(text[1]);
    if (second < sequence.second_low || second > sequence.second_high) continue;
    if (!are_continued(text.substr(2, sequence.num_bytes - 2))) continue;
    return {sequence.num_bytes, first == 0xc2 && second < 0xa0};
  }
  return {1, true};
}

}  // namespace millrace
