// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace millrace {

/// Replaces each control character with an escape: "\n", "\t", "\x1b". A name read from a file can then neither break
/// the line it is printed on nor move a terminal's cursor. Also escapes C1 controls and invalid UTF-8.
std::string printable(std::string_view);

/// Like printable(), but keeps line ends and tabs, for text of several lines. Every Status applies it to its message.
std::string printable_lines(std::string_view);

}  // namespace millrace
