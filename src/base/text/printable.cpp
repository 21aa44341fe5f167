// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/printable.h"

#include "base/text/character.h"

namespace millrace {
namespace {

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
    const auto [num_bytes, is_control] = first_character(text);
    if (is_control && kept.find(text[0]) == kept.npos) {
      for (const char c : text.substr(0, num_bytes)) append_escape(result, c);
    } else {
      result += text.substr(0, num_bytes);
    }
    text.remove_prefix(num_bytes);
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, ""); }
std::string printable_lines(std::string_view text) { return escaped(text, "\n\t"); }

}  // namespace millrace
