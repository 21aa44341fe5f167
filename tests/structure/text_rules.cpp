// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/text_rules.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace millrace::structure {

namespace {

constexpr std::string_view kLicenceLine = "// SPDX-License-Identifier: Apache-2.0\n";

}  // namespace

Violations check_licence_lines(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    if (file.text.starts_with(kLicenceLine)) continue;
    violations.push_back(
        fmt::format("{}:1: does not begin with {}", file.path, kLicenceLine.substr(0, kLicenceLine.size() - 1)));
  }
  return violations;
}

}  // namespace millrace::structure
