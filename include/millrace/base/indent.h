// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace millrace {

/// The text with `indent` before each line.
inline std::string indented(std::string_view text, std::string_view indent) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t length = end == std::string_view::npos ? text.size() : end + 1;
    result.append(indent).append(text.substr(0, length));
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace millrace
