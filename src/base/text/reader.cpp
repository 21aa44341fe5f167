// SPDX-License-Identifier: Apache-2.0
// The tokenizer that all our parsers share, and the errors that point at a line and column.
#include "base/text/reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/character.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_character(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
/// Whether the byte continues a UTF-8 character.
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t name_length(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_name_character) - text.begin());
}

/// The character for the escape at the start of `text`, and the escape's length; 0 if it is not an escape.
std::pair<char, std::size_t> read_escape(std::string_view text) {
  if (text.size() < 2) return {0, 0};
  switch (text[1]) {
    case '"':
    case '\\':
      return {text[1], 2};
    case 'n':
      return {'\n', 2};
    case 't':
      return {'\t', 2};
    case 'x':
      break;
    default:
      return {0, 0};
  }
  if (text.size() < 4 || hex_digit(text[2]) < 0 || hex_digit(text[3]) < 0) return {0, 0};
  return {static_cast<char>(hex_digit(text[2]) * 16 + hex_digit(text[3])), 4};
}

/// The part of a line around `column` that fits on a screen, with a caret under the column. `column` counts bytes, not
/// characters, and so does the width.
std::string excerpt(std::string_view line, std::size_t column) {
  constexpr std::size_t kBefore = 70, kAfter = 40;
  std::size_t begin = column > kBefore ? column - kBefore : 0;
  while (begin < column && is_continuation(line[begin])) ++begin;
  std::size_t end = std::min(line.size(), column + kAfter);
  while (end < line.size() && is_continuation(line[end])) ++end;
  std::string shown = begin > 0 ? "..." : "";
  std::string caret(shown.size(), ' ');
  while (begin < end) {
    const auto [num_bytes, is_control] = first_character(line.substr(begin));
    const bool is_tab = line[begin] == '\t';
    shown += is_control && !is_tab ? " " : line.substr(begin, num_bytes);
    if (begin < column) caret += is_tab ? '\t' : ' ';
    begin += num_bytes;
  }
  return fmt::format("{}{}\n{}^", shown, end < line.size() ? "..." : "", caret);
}

}  // namespace

bool is_plain_name(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && name_length(text) == text.size();
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string string_text(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const auto [num_bytes, is_control] = first_character(text);
    if (text[0] == '"' || text[0] == '\\') {
      result += {'\\', text[0]};
    } else {
      // Escapes exactly the characters that read_string unescapes.
      result += is_control ? printable(text.substr(0, num_bytes)) : text.substr(0, num_bytes);
    }
    text.remove_prefix(num_bytes);
  }
  return result + "\"";
}

std::string name_text(std::string_view text) { return is_plain_name(text) ? std::string(text) : string_text(text); }

std::size_t TextReader::position() {
  while (position_ < text_.size()) {
    if (is_space(text_[position_])) {
      ++position_;
    } else if (text_.substr(position_).starts_with("//")) {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else {
      break;
    }
  }
  return position_;
}

bool TextReader::take(std::string_view punctuation) {
  if (!rest().starts_with(punctuation)) return false;
  position_ += punctuation.size();
  return true;
}

bool TextReader::take_word(std::string_view word) {
  const std::string_view text = rest();
  if (!text.starts_with(word) || name_length(text) != word.size()) return false;
  position_ += word.size();
  return true;
}

std::string_view TextReader::take_name() {
  const std::string_view text = rest();
  if (text.empty() || !is_letter(text[0])) return {};
  return take_name_characters();
}

std::string_view TextReader::take_name_characters() {
  const std::string_view text = rest();
  const std::size_t length = name_length(text);
  position_ += length;
  return text.substr(0, length);
}

Result<std::string> TextReader::read_string() {
  const std::size_t begin = position();
  if (!take("\"")) return unexpected("expected a string; put it in double quotes");
  std::string value;
  while (position_ < text_.size() && text_[position_] != '\n') {
    const char c = text_[position_];
    if (c == '"') {
      ++position_;
      return value;
    }
    if (c != '\\') {
      value += c;
      ++position_;
      continue;
    }
    const auto [escaped, length] = read_escape(text_.substr(position_));
    if (length == 0)
      return error(position_,
                   "found an unknown escape, expected \\\", \\\\, \\n, \\t or \\x and two of "
                   "0-9 and a-f; write a backslash as \\\\");
    value += escaped;
    position_ += length;
  }
  return error(begin, "found a string without an end, expected '\"' on the same line; close it");
}

Result<std::string> TextReader::read_name(std::string_view expected) {
  if (rest().starts_with('"')) return read_string();
  const std::string_view name = take_name();
  if (name.empty()) return unexpected(expected);
  return std::string(name);
}

Status TextReader::error(std::size_t position, std::string_view problem) const {
  const std::string_view before = text_.substr(0, position);
  const auto line_number = std::ranges::count(before, '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const std::string_view line = text_.substr(line_begin, text_.find('\n', position) - line_begin);
  const std::string_view left = before.substr(line_begin);
  const auto column = left.size() - static_cast<std::size_t>(std::ranges::count_if(left, is_continuation)) + 1;
  return invalid_argument(
      fmt::format("{}:{}:{}: {}\n{}", printable(name_), line_number, column, problem, excerpt(line, left.size())));
}

Status TextReader::unexpected(std::string_view expected) {
  return error(position(), fmt::format("found {}, {}", next_token(), expected));
}

std::string TextReader::next_token() {
  constexpr std::size_t kShown = 40;
  const std::string_view text = rest();
  if (text.empty()) return "the end of the text";
  const auto [num_bytes, is_control] = first_character(text);
  if (is_control && num_bytes == 1) {
    return fmt::format("byte 0x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(text[0])));
  }
  if (!is_name_character(text[0]) && text[0] != '%') return fmt::format("'{}'", printable(text.substr(0, num_bytes)));
  const std::size_t length = name_length(text.substr(1)) + 1;
  return length > kShown ? fmt::format("'{}...'", text.substr(0, kShown)) : fmt::format("'{}'", text.substr(0, length));
}

}  // namespace millrace
