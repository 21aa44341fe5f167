// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace millrace {

/// The text with an escape in the place of each control character: "\n", "\t", "\x1b". A name from a file then neither
/// ends the line that it is printed in nor moves a terminal's cursor. C1 controls and what is no UTF-8 are escaped too.
std::string printable(std::string_view);

/// The same, except that line ends and tabs stay: for text of several lines. Every Status does this to its message.
std::string printable_lines(std::string_view);

}  // namespace millrace
