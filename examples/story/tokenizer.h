// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/status.h"

namespace story {

/// The tokens of a vocabulary, with the scores by which they are merged. Source: tokenizer.bin of
/// github.com/karpathy/llama2.c, which has SentencePiece's byte-pair encoding.
class Tokenizer {
 public:
  static constexpr std::int64_t kBegin = 1, kEnd = 2;

  static millrace::Result<Tokenizer> read(const std::string& path, std::size_t num_tokens);

  /// The tokens of a text, after kBegin.
  std::vector<std::int64_t> encode(std::string_view text) const;
  /// The text that the token adds after the token `before`.
  std::string decode(std::int64_t before, std::int64_t token) const;

 private:
  struct Entry {
    std::string text;
    float score = 0;
  };
  std::vector<Entry> entries_;
  std::map<std::string, std::int64_t, std::less<>> numbers_;
};

}  // namespace story
