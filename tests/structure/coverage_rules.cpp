// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/coverage_rules.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

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

struct Row {
  std::string_view name, second;  // the first two arguments
};

/// The lines that begin with `macro`(; a long row is broken before its first argument.
std::vector<Row> rows_of(std::string_view table, std::string_view macro) {
  const std::string start = fmt::format("\n{}(", macro);
  std::vector<Row> rows;
  for (size_t at = table.find(start); at != std::string_view::npos; at = table.find(start, at + 1)) {
    const auto first = table.find_first_not_of(" \n", at + start.size());
    const auto comma = table.find(',', first);
    const auto second = std::min(table.find_first_not_of(" \n", comma + 1), table.size());
    rows.push_back({table.substr(first, comma - first), table.substr(second, table.find(',', second) - second)});
  }
  return rows;
}

/// A text of kernels without its comments and its lane functions, whose ops are others.
std::string without_comments_and_lanes(std::string_view text) {
  std::string kept;
  bool is_lanes = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("// ---")) is_lanes = false;
    if (line.starts_with("lanes ")) is_lanes = true;
    if (!is_lanes) kept += std::string(line.substr(0, line.find("//"))) + "\n";
  }
  return kept;
}

/// Whether a text of kernels has the op whose name is `quoted`.
bool is_kernel_with(const SourceFile& test, std::string_view quoted) {
  if (!test.path.ends_with(".kernel") || quoted.size() < 3) return false;
  return mentions(without_comments_and_lanes(test.text), fmt::format(" {}", quoted.substr(1, quoted.size() - 2)));
}

}  // namespace

Violations check_rows_are_tested(const SourceTree& tree, const TestedTable& table) {
  const auto file = std::ranges::find(tree, table.path, &SourceFile::path);
  const auto rows = file == tree.end() ? std::vector<Row>() : rows_of(file->text, table.macro);
  if (rows.empty()) return {fmt::format("{}:1: has no row {}(...)", table.path, table.macro)};
  Violations violations;
  for (const auto& [name, second] : rows) {
    const std::string word = fmt::format("{}::{}", table.enumeration, name);
    const bool tested = std::ranges::any_of(tree, [&, text = second](const SourceFile& test) {
      return test.path.starts_with(table.tests) && (mentions(test.text, word) || is_kernel_with(test, text));
    });
    if (!tested) violations.push_back(fmt::format("{}: {} has no row in {}", table.path, word, table.tests));
  }
  return violations;
}

}  // namespace millrace::structure
