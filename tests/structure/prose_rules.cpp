// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/prose_rules.h"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>

namespace millrace::structure {
namespace {

/// Whether a comment about the file follows the licence line, perhaps behind `#pragma once` and the includes' first.
bool has_opening(const SourceFile& file) {
  std::istringstream lines(file.text);
  std::string line;
  std::getline(lines, line);
  for (int i = 0; i < 3 && std::getline(lines, line); ++i) {
    if (line.starts_with("// ")) return true;
  }
  return false;
}

}  // namespace

std::span<const TellTale> tell_tales() {
  static const std::array<TellTale, 8> kTellTales = {{
      {"so many", "a number's name, or 'this many'"},
      {"of which", "a second sentence", {"each of which", "all of which", "is on the stack of whichever"}},
      {"each two", "'each pair of', or 'two per'"},
      {"is none", "'there is no', or 'has no'", {"there is none"}},
      {"are none", "'there are no'", {"there are none"}},
      {"but of", "'except'"},
      {"' is no ", "\"unknown command 'x'\""},
      {" beside ", "'next to'"},
  }};
  return kTellTales;
}

Violations check_tell_tales(const SourceTree& tree, std::span<const TellTale> all) {
  Violations violations;
  for (const SourceFile& file : tree) {
    if (file.path.starts_with("tests/")) continue;
    std::istringstream lines(file.text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      for (const TellTale& one : all) {
        if (line.find(one.phrase) == std::string::npos) continue;
        if (std::ranges::any_of(one.allowed,
                                [&](std::string_view part) { return line.find(part) != std::string::npos; }))
          continue;
        violations.push_back(fmt::format("{}:{}: '{}'; say {}", file.path, number, one.phrase, one.instead));
      }
    }
  }
  return violations;
}

Violations check_opening_sentences(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    const bool is_judged = file.path.starts_with("src/") || file.path.starts_with("tools/");
    if (!is_judged || !file.path.ends_with(".cpp") || has_opening(file)) continue;
    const std::string header = file.path.substr(0, file.path.size() - 4) + ".h";
    const auto found = std::ranges::find(tree, header, &SourceFile::path);
    if (found != tree.end() && has_opening(*found)) continue;
    violations.push_back(fmt::format("{}:2: begins without a sentence that says what the file is for", file.path));
  }
  return violations;
}

}  // namespace millrace::structure
