// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/size_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

namespace millrace::structure {
namespace {

struct Line {
  std::string text;
  int number;
};

std::vector<Line> lines_of(const SourceFile& file) {
  std::istringstream stream(file.text);
  std::vector<Line> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back({line, static_cast<int>(lines.size()) + 1});
  return lines;
}

bool is_of(const SourceFile& file, std::initializer_list<std::string_view> folders) {
  return std::ranges::any_of(folders, [&](std::string_view folder) { return file.path.starts_with(folder); });
}

std::size_t indentation_of(const std::string& line) { return std::min(line.find_first_not_of(' '), line.size()); }

bool begins_function(const std::string& line) {
  static constexpr std::array kOthers = {"if ",    "} else",  "for ",  "while ", "switch ",    "do ", "case ",
                                         "class ", "struct ", "enum ", "union ", "namespace ", "//",  "TEST_CASE"};
  const std::string_view text = std::string_view(line).substr(indentation_of(line));
  const bool ends_so = text.ends_with(") {") || text.ends_with(") const {") || text.ends_with(") try {") ||
                       text.ends_with(") noexcept {");
  return ends_so && std::ranges::none_of(kOthers, [&](std::string_view other) { return text.starts_with(other); });
}

/// The lines that count for check_equal_lines, without indentation.
std::vector<Line> counted_lines(const SourceFile& file) {
  std::vector<Line> counted;
  for (Line& line : lines_of(file)) {
    line.text.erase(0, indentation_of(line.text));
    if (line.text.empty() || line.text.starts_with("//") || line.text.starts_with("#include")) continue;
    counted.push_back(std::move(line));
  }
  return counted;
}

}  // namespace

Violations check_file_lengths(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    const auto lines = std::ranges::count(file.text, '\n');
    if (lines <= kMaxLines) continue;
    violations.push_back(
        fmt::format("{}:{}: {} lines, at most {}; divide it by concept", file.path, lines, lines, kMaxLines));
  }
  return violations;
}

Violations check_folder_sizes(const SourceTree& tree) {
  std::map<std::string, int> num_files;
  for (const SourceFile& file : tree) ++num_files[file.path.substr(0, file.path.rfind('/'))];
  Violations violations;
  for (const auto& [folder, count] : num_files) {
    if (count <= kMaxFolderFiles) continue;
    violations.push_back(fmt::format("{}:1: {} files, at most {}; give what belongs together a folder of its own",
                                     folder, count, kMaxFolderFiles));
  }
  return violations;
}

Violations check_function_lengths(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    if (!is_of(file, {"src/", "include/", "tools/"})) continue;
    const std::vector<Line> lines = lines_of(file);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!begins_function(lines[i].text)) continue;
      // Two less than the body: the lines of a long head are indented more.
      if (i + 1 == lines.size() || indentation_of(lines[i + 1].text) < 2) continue;
      const std::string end = std::string(indentation_of(lines[i + 1].text) - 2, ' ') + "}";
      const auto closed = std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1, lines.end(),
                                       [&](const Line& line) { return line.text.starts_with(end); });
      const auto length = closed - lines.begin() - static_cast<std::ptrdiff_t>(i) - 1;
      if (closed == lines.end() || length <= kMaxFunctionLines) continue;
      violations.push_back(fmt::format("{}:{}: a function of {} lines, at most {}; divide it by what it does",
                                       file.path, lines[i].number, length, kMaxFunctionLines));
    }
  }
  return violations;
}

Violations check_equal_lines(const SourceTree& tree) {
  struct Place {
    const SourceFile* file;
    int line;
  };
  constexpr std::size_t kWindow = kMaxEqualLines + 1;
  std::map<std::string, Place> seen;
  Violations violations;
  for (const SourceFile& file : tree) {
    if (!is_of(file, {"src/", "include/"})) continue;
    const std::vector<Line> lines = counted_lines(file);
    for (std::size_t i = 0; i + kWindow <= lines.size(); ++i) {
      std::string window;
      for (std::size_t k = 0; k < kWindow; ++k) window += lines[i + k].text + "\n";
      const auto [first, is_new] = seen.try_emplace(window, Place{&file, lines[i].number});
      if (is_new || first->second.file == &file) continue;
      violations.push_back(fmt::format("{}:{}: {} lines are those of {}:{}; give them one place", file.path,
                                       lines[i].number, kWindow, first->second.file->path, first->second.line));
      i += kMaxEqualLines;
    }
  }
  return violations;
}

}  // namespace millrace::structure
