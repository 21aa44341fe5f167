// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ops/expected_refusals.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "millrace/base/check.h"

namespace millrace::test {

std::vector<std::string> listed_refusals(std::string_view section) {
  std::ifstream file(MILLRACE_SOURCE_DIR "/tests/ops/refusals.txt");
  MILLRACE_CHECK(file.good());
  std::vector<std::string> lines;
  bool is_inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("[")) {
      is_inside = line == "[" + std::string(section) + "]";
    } else if (is_inside && !line.empty()) {
      lines.push_back(line);
    }
  }
  return lines;
}

std::vector<std::string> unexpected_refusals(const DriverTally& tally, std::string_view section) {
  std::set<std::string> targets;
  for (const auto& [key, count] : tally.forced) targets.insert(key.target + " ");
  std::vector<std::string> differences;
  const std::vector<std::string> found = refusals(tally), listed = listed_refusals(section);
  for (const std::string& line : found) {
    if (std::ranges::find(listed, line) == listed.end()) differences.push_back("+ " + line);
  }
  for (const std::string& line : listed) {
    const bool is_tried = targets.contains(line.substr(0, line.find(' ') + 1));
    if (is_tried && std::ranges::find(found, line) == found.end()) differences.push_back("- " + line);
  }
  return differences;
}

}  // namespace millrace::test
