// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/coverage_rules.h"

#include <algorithm>
#include <cctype>
#include <string>

#include <fmt/format.h>

namespace millrace::structure {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Whether `word` stands in `text` with no letter, digit or '_' after it.
bool mentions(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (at + word.size() == text.size() || !is_word(text[at + word.size()])) return true;
  }
  return false;
}

/// The first arguments of the lines that begin with `macro`(; a long row is broken before them.
std::vector<std::string_view> row_names(std::string_view table, std::string_view macro) {
  const std::string start = fmt::format("\n{}(", macro);
  std::vector<std::string_view> names;
  for (size_t at = table.find(start); at != std::string_view::npos; at = table.find(start, at + 1)) {
    const auto first = table.find_first_not_of(" \n", at + start.size());
    names.push_back(table.substr(first, table.find(',', first) - first));
  }
  return names;
}

}  // namespace

Violations check_rows_are_tested(const SourceTree& tree, const TestedTable& table) {
  const auto file = std::ranges::find(tree, table.path, &SourceFile::path);
  const auto names = file == tree.end() ? std::vector<std::string_view>() : row_names(file->text, table.macro);
  if (names.empty()) return {fmt::format("{}:1: has no row {}(...)", table.path, table.macro)};
  Violations violations;
  for (const std::string_view name : names) {
    const std::string word = fmt::format("{}::{}", table.enumeration, name);
    const bool tested = std::ranges::any_of(
        tree, [&](const SourceFile& test) { return test.path.starts_with(table.tests) && mentions(test.text, word); });
    if (!tested) violations.push_back(fmt::format("{}: {} has no row in {}", table.path, word, table.tests));
  }
  return violations;
}

}  // namespace millrace::structure
