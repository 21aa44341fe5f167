// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "millrace/base/status.h"

namespace millrace {

/// Whether a name needs no quotes in our texts: a letter or '_', then letters, digits, '_' and '.'.
bool is_plain_name(std::string_view);
/// The text in double quotes, with the escapes that read_string needs.
std::string string_text(std::string_view);
/// The name itself if it is plain, otherwise string_text.
std::string name_text(std::string_view);
/// The value of 0-9 and a-f, otherwise -1.
int hex_digit(char);

/// A position in a text, and the tokens of our texts. Spaces, line ends and comments ("//" to the end of the line) may
/// separate tokens. Errors give the position and show its line:
///
///     g.mr:2:8: found 'topq', expected the name of an op; did you mean 'topk'?
///       %y = topq(%x)
///            ^
class TextReader {
 public:
  /// Errors call the text `name`, which is usually its path. `name` and `text` must outlive the reader.
  TextReader(std::string_view name, std::string_view text) : name_(name), text_(text) {}

  /// The byte offset of the next token.
  std::size_t position();
  void move_to(std::size_t position) { position_ = position; }
  bool at_end() { return position() == text_.size(); }
  /// The text from the next token on.
  std::string_view rest() { return text_.substr(position()); }
  void skip(std::size_t bytes) { position_ += bytes; }

  // Each function takes the next token if it matches, and otherwise leaves it.
  bool take(std::string_view punctuation);
  bool take_word(std::string_view word);
  /// Takes a plain name. Returns an empty text if the next token is not one.
  std::string_view take_name();
  /// Takes letters, digits, '_' and '.', with no rule for the first character.
  std::string_view take_name_characters();

  /// Reads a string in double quotes, with the escapes \" \\ \n \t and \x7f. Fails if the next token is not a string.
  Result<std::string> read_string();
  /// A plain name or a string.
  Result<std::string> read_name(std::string_view expected);

  /// "<name>:<line>:<column>: <problem>", then the line with a caret below the column.
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
