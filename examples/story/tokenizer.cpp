// SPDX-License-Identifier: Apache-2.0
#include "examples/story/tokenizer.h"

#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "millrace/base/file.h"

namespace story {

using millrace::Result;

/// The tokens of the 256 bytes follow those for unknown, begin and end.
constexpr std::int64_t kFirstByte = 3;

Result<Tokenizer> Tokenizer::read(const std::string& path, std::size_t num_tokens) {
  const std::string where = fmt::format("tokenizer '{}'", path);
  MILLRACE_TRY_ASSIGN(const std::vector<std::byte> file, millrace::read_file(where, path));
  std::size_t at = sizeof(std::int32_t);  // after the length of the longest token
  const auto take = [&](void* to, std::size_t size_bytes) {
    if (at > file.size() || size_bytes > file.size() - at) return false;
    std::memcpy(to, file.data() + at, size_bytes);
    at += size_bytes;
    return true;
  };
  constexpr std::int32_t kMaxBytes = 4096;
  Tokenizer found;
  for (std::size_t i = 0; i < num_tokens; ++i) {
    Entry& entry = found.entries_.emplace_back();
    std::int32_t size_bytes = 0;
    bool is_whole = take(&entry.score, sizeof entry.score) && take(&size_bytes, sizeof size_bytes) && size_bytes >= 0 &&
                    size_bytes <= kMaxBytes;
    entry.text.resize(is_whole ? static_cast<std::size_t>(size_bytes) : 0);
    is_whole = is_whole && take(entry.text.data(), entry.text.size());
    if (!is_whole) {
      return millrace::invalid_argument(
          fmt::format("{}: ends in token {} of {}; give the tokenizer of the weights", where, i, num_tokens));
    }
    found.numbers_.emplace(entry.text, static_cast<std::int64_t>(i));
  }
  return found;
}

std::vector<std::int64_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> tokens = {kBegin};
  const auto find = [&](std::string_view part) -> std::optional<std::int64_t> {
    const auto known = numbers_.find(part);
    return known == numbers_.end() ? std::nullopt : std::optional(known->second);
  };
  if (text.empty()) return tokens;
  if (const auto space = find(" ")) tokens.push_back(*space);  // the vocabulary's words begin with a space
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = 1;  // of the UTF-8 character
    while (i + length < text.size() && (static_cast<unsigned char>(text[i + length]) & 0xc0) == 0x80) ++length;
    if (const auto whole = find(text.substr(i, length))) {
      tokens.push_back(*whole);
    } else {
      for (std::size_t k = i; k < i + length; ++k) tokens.push_back(kFirstByte + static_cast<unsigned char>(text[k]));
    }
    i += length;
  }
  // Merges the neighbours that make the token with the best score, until no neighbours make a token.
  while (true) {
    std::optional<std::size_t> best;
    std::int64_t merged = 0;
    for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
      const auto pair = find(entries_[static_cast<std::size_t>(tokens[i])].text +
                             entries_[static_cast<std::size_t>(tokens[i + 1])].text);
      const auto score = [&](std::int64_t token) { return entries_[static_cast<std::size_t>(token)].score; };
      if (!pair || (best && score(*pair) <= score(merged))) continue;
      best = i;
      merged = *pair;
    }
    if (!best) return tokens;
    tokens[*best] = merged;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
  }
}

std::string Tokenizer::decode(std::int64_t before, std::int64_t token) const {
  const std::int64_t byte = token - kFirstByte;
  const std::string& text = entries_[static_cast<std::size_t>(token)].text;
  if (text == fmt::format("<0x{:02X}>", byte)) return {static_cast<char>(byte)};
  return before == kBegin && text.starts_with(' ') ? text.substr(1) : text;
}

}  // namespace story
