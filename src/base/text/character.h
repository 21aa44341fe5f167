// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace {

struct Character {
  std::size_t num_bytes = 0;
  /// U+0000 to U+001F, U+007F to U+009F, or an invalid UTF-8 byte: must not be sent to a terminal unescaped.
  bool is_control = false;
};

/// Precondition: `text` is not empty.
Character first_character(std::string_view text);

}  // namespace millrace
