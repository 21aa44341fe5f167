// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/golden_rules.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace::structure {
namespace fs = std::filesystem;

std::vector<std::string> find_golden_files(const fs::path& repository) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(repository / "tests")) {
    if (!entry.is_regular_file() || entry.path().parent_path().filename() != "golden") continue;
    files.push_back(fs::relative(entry.path(), repository).generic_string());
  }
  std::ranges::sort(files);
  return files;
}

Violations check_golden_files_are_used(const std::vector<std::string>& golden_files, const SourceTree& tree) {
  Violations violations;
  for (const std::string& golden : golden_files) {
    const fs::path folder = fs::path(golden).parent_path().parent_path();
    const std::string name = fmt::format("\"{}\"", fs::path(golden).filename().string());
    const bool is_used = std::ranges::any_of(tree, [&](const SourceFile& file) {
      return fs::path(file.path).parent_path() == folder && file.text.find(name) != std::string::npos;
    });
    if (!is_used) violations.push_back(fmt::format("{}:1: no test in {} names it; delete it", golden, folder.string()));
  }
  return violations;
}

}  // namespace millrace::structure
