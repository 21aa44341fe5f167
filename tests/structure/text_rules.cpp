// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/text_rules.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace millrace::structure {

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

Violations check_licence_lines(const SourceTree& tree) {
  constexpr std::string_view kLine = "// SPDX-License-Identifier: Apache-2.0\n";
  Violations violations;
  for (const SourceFile& file : tree) {
    if (file.text.starts_with(kLine)) continue;
    violations.push_back(fmt::format("{}:1: does not begin with {}", file.path, kLine.substr(0, kLine.size() - 1)));
  }
  return violations;
}

}  // namespace millrace::structure
