// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

/// Makes text from outside (a name, a path, a number in a file) safe to print in messages and tables. Replaces each
/// control character with an escape: "\n", "\t", "\x1b". A name read from a file can then neither break the line it is
/// printed on nor move a terminal's cursor. Also escapes C1 controls and invalid UTF-8. Text longer than `max_bytes` is
/// shortened to its beginning and its end, by default the first 160 and the last 64 bytes, with "..." between them.
std::string printable(std::string_view, std::size_t max_bytes = 256);

/// Like printable(), but keeps line ends and tabs, for text of several lines, and cuts nothing.
std::string printable_lines(std::string_view);

/// Like printable_lines(), but drops the middle of text longer than 16 KiB. Every Status applies this to its message.
std::string printable_message(std::string_view);

/// A list of names for a message: "a, b, c", each printable(). With more than 20 names: the first 20 "and 9980 more".
/// Without names: "none".
class PrintableNames {
 public:
  void add(std::string_view name);
  std::string text() const;

 private:
  std::string first_;
  std::size_t num_names_ = 0, num_left_out_ = 0;
};

}  // namespace millrace
