// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/printable.h"

#include <cstddef>

namespace millrace {
namespace {

/// In bytes: 2 for U+0080 to U+009F; 0 when the text begins with another character.
std::size_t control_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  return byte(0) == 0xc2 && text.size() > 1 && byte(1) >= 0x80 && byte(1) < 0xa0 ? 2 : 0;
}

void append_escape(std::string& result, char c) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\n' || c == '\t') {
    result += c == '\n' ? "\\n" : "\\t";
  } else {
    result += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
}

std::string escaped(std::string_view text, std::string_view kept) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = kept.find(text[0]) == kept.npos ? control_length(text) : 0;
    for (const char c : text.substr(0, length)) append_escape(result, c);
    if (length == 0) result += text[0];
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, ""); }
std::string printable_lines(std::string_view text) { return escaped(text, "\n\t"); }

}  // namespace millrace
