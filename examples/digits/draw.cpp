// SPDX-License-Identifier: Apache-2.0
#include "examples/digits/draw.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace digits {
namespace {

constexpr std::string_view kIndent = "   ";

/// A character cell is twice as high as wide, so a pixel takes two cells.
std::string_view shade(float ink) {
  constexpr std::array<std::string_view, 5> kShades = {"  ", "░░", "▒▒", "▓▓", "██"};
  return kShades[static_cast<std::size_t>(std::clamp(ink, 0.0f, 1.0f) * (kShades.size() - 1) + 0.5f)];
}

}  // namespace

std::string draw(const DigitSet& digits, const std::vector<Guesses>& guesses, const std::vector<std::size_t>& chosen) {
  std::string text;
  const auto add_line = [&](auto&& cell) {
    for (const std::size_t i : chosen) {
      text += kIndent;
      text += cell(i);
    }
    text += '\n';
  };
  for (std::size_t row = 0; row < kSide; ++row) {
    add_line([&](std::size_t i) {
      std::string line;
      for (const float ink : digits.image(i).subspan(row * kSide, kSide)) line += shade(ink);
      return line;
    });
  }
  add_line([&](std::size_t i) { return fmt::format("{:<16}", fmt::format("written: {}", digits.labels[i])); });
  for (std::size_t rank = 0; rank < kGuesses; ++rank) {
    add_line([&](std::size_t i) {
      const std::int64_t guess = guesses[i].classes[rank];
      const char* mark = guess == digits.labels[i] ? "<" : " ";
      return fmt::format("{}  {:8.4f} % {} ", guess, 100 * guesses[i].probabilities[rank], mark);
    });
  }
  return text;
}

}  // namespace digits
