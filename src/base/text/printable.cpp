// SPDX-License-Identifier: Apache-2.0
// Escapes and shortens text from outside before a message or a table shows it.
#include "millrace/base/printable.h"

#include <fmt/format.h>

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

constexpr std::string_view kLines = "\n\t";

struct Ends {
  std::string_view front, back;
};

/// The first `front_bytes` and the last `back_bytes` of a longer text, shortened so that no UTF-8 character is split.
Ends ends_of(std::string_view text, std::size_t front_bytes, std::size_t back_bytes) {
  const auto is_inside = [&](std::size_t place) { return (static_cast<unsigned char>(text[place]) & 0xc0) == 0x80; };
  std::size_t begin = text.size() - back_bytes;
  for (int i = 0; i < 3 && is_inside(front_bytes); ++i) --front_bytes;
  for (int i = 0; i < 3 && is_inside(begin); ++i) ++begin;
  return {text.substr(0, front_bytes), text.substr(begin)};
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return escaped(text, "");
  const Ends ends = ends_of(text, max_bytes / 8 * 5, max_bytes / 4);
  return escaped(ends.front, "") + "..." + escaped(ends.back, "");
}

std::string printable_lines(std::string_view text) { return escaped(text, kLines); }

std::string printable_message(std::string_view text) {
  constexpr std::size_t kMaxBytes = 16 << 10, kEndBytes = 7 << 10;
  if (text.size() <= kMaxBytes) return escaped(text, kLines);
  const Ends ends = ends_of(text, kEndBytes, kEndBytes);
  const std::size_t num_left_out = text.size() - ends.front.size() - ends.back.size();
  return fmt::format("{}... ({} bytes are left out) ...{}", escaped(ends.front, kLines), num_left_out,
                     escaped(ends.back, kLines));
}

void PrintableNames::add(std::string_view name) {
  constexpr std::size_t kMaxNames = 20;
  if (num_names_++ < kMaxNames) first_ += (first_.empty() ? "" : ", ") + printable(name);
  num_left_out_ = num_names_ > kMaxNames ? num_names_ - kMaxNames : 0;
}

std::string PrintableNames::text() const {
  if (num_names_ == 0) return "none";
  return num_left_out_ == 0 ? first_ : fmt::format("{} and {} more", first_, num_left_out_);
}

}  // namespace millrace
