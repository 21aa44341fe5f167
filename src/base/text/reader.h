// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "millrace/base/status.h"

namespace millrace {

/// A letter or '_', then letters, digits, '_' and '.': what stands in our texts without quotes.
bool is_plain_name(std::string_view);
/// In double quotes, with escapes where read_string needs them.
std::string string_text(std::string_view);
/// The name as it is when it is plain, else string_text.
std::string name_text(std::string_view);
/// The value of 0-9 and a-f, else -1.
int hex_digit(char);

/// A place in a text, and the tokens that our texts are made of. Spaces, line ends and comments ("//" up to the end of
/// the line) may stand between tokens. Errors say the place and show its line:
///
///     g.mr:2:8: found 'topq', expected the name of an op; did you mean 'topk'?
///       %y = topq(%x)
///            ^
class TextReader {
 public:
  /// `name` stands for the text in errors: a path, mostly. Both outlive the reader.
  TextReader(std::string_view name, std::string_view text) : name_(name), text_(text) {}

  /// Where the next token begins, in bytes.
  std::size_t position();
  void move_to(std::size_t position) { position_ = position; }
  bool at_end() { return position() == text_.size(); }
  /// The text from the next token on.
  std::string_view rest() { return text_.substr(position()); }
  void skip(std::size_t bytes) { position_ += bytes; }

  // Each takes the next token when it is what is asked for, and otherwise nothing.
  bool take(std::string_view punctuation);
  bool take_word(std::string_view word);
  /// Empty when there is none.
  std::string_view take_name();
  /// Letters, digits, '_' and '.', whatever comes first.
  std::string_view take_name_characters();

  /// A string in double quotes, with the escapes \" \\ \n \t and \x7f. Fails when there is none.
  Result<std::string> read_string();
  /// A plain name or a string.
  Result<std::string> read_name(std::string_view expected);

  /// "<name>:<line>:<column>: <problem>", and the line with a caret below the column.
  Status error(std::size_t position, std::string_view problem) const;
  /// "found <the next token>, <expected>".
  Status unexpected(std::string_view expected);
  /// The next token in quotes, or "the end of the text".
  std::string next_token();

 private:
  std::string_view name_;
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace millrace
