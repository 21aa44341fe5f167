// SPDX-License-Identifier: Apache-2.0
#include "tests/support/golden.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace millrace::test {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAccept = "run with MILLRACE_UPDATE_GOLDEN=1 to accept";

/// The compiler gives the test's path from the root or relative to the build, so only the part below the repository is
/// used.
fs::path golden_path(std::string_view name, std::string_view test_file) {
  const fs::path test = fs::path(MILLRACE_SOURCE_DIR) / test_file.substr(test_file.rfind("/tests/") + 1);
  return test.parent_path() / "golden" / name;
}

std::string write_problem(const fs::path& path, std::string_view text) {
  std::error_code error;
  fs::create_directory(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file.good() ? "" : fmt::format("{}: cannot be written", path.string());
}

std::string line_at(std::string_view text, std::size_t begin) {
  if (begin == text.size()) return "the end";
  const std::size_t end = text.find('\n', begin);
  return fmt::format("'{}'{}", text.substr(begin, end - begin), end == text.npos ? " without a newline" : "");
}

std::string first_difference(const fs::path& path, std::string_view found, std::string_view expected) {
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(found, expected).in1 - found.begin());
  const std::string_view equal = found.substr(0, at);
  const std::size_t line_begin = equal.rfind('\n') + 1;  // 0 in the first line, as npos + 1 is 0
  return fmt::format("{}:{}: the text differs; {}\n  found    {}\n  expected {}", path.string(),
                     1 + std::ranges::count(equal, '\n'), kAccept, line_at(found, line_begin),
                     line_at(expected, line_begin));
}

}  // namespace

std::string golden_problem(std::string_view name, std::string_view text, const std::source_location& test) {
  const fs::path path = golden_path(name, test.file_name());
  const char* update = std::getenv("MILLRACE_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") return write_problem(path, text);
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return fmt::format("{}: there is no such file; {}", path.string(), kAccept);
  const std::string expected(std::istreambuf_iterator<char>(file), {});
  return text == expected ? "" : first_difference(path, text, expected);
}

}  // namespace millrace::test
