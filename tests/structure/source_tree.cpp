// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/source_tree.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

namespace millrace::structure {
namespace fs = std::filesystem;

namespace {

constexpr std::array kSourceFolders = {"include", "src", "tests", "bench", "examples", "tools"};

bool is_source(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".h" || extension == ".cpp" || extension == ".inc" || extension == ".kernel";
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string_view skip_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

/// Takes `word` off the front of `text`; false when it does not stand there.
bool consume(std::string_view& text, std::string_view word) {
  text = skip_blanks(text);
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

SourceTree load_source_tree(const fs::path& repository) {
  SourceTree tree;
  for (const char* folder : kSourceFolders) {
    if (!fs::exists(repository / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(repository / folder)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      tree.push_back({fs::relative(entry.path(), repository).generic_string(), read_text(entry.path())});
    }
  }
  std::ranges::sort(tree, {}, &SourceFile::path);
  return tree;
}

std::vector<Include> includes_of(const SourceFile& file) {
  std::vector<Include> found;
  std::istringstream lines(file.text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::string_view rest = line;
    if (!consume(rest, "#") || !consume(rest, "include")) continue;
    rest = skip_blanks(rest);
    if (rest.empty() || (rest[0] != '"' && rest[0] != '<')) continue;
    const bool quoted = rest[0] == '"';
    const auto end = rest.find(quoted ? '"' : '>', 1);
    if (end == std::string_view::npos) continue;
    found.push_back({std::string(rest.substr(1, end - 1)), quoted, number});
  }
  return found;
}

const SourceFile* resolve_include(const SourceTree& tree, const SourceFile& from, const Include& include) {
  // The order of the compiler: the folder of the file, then the include folders of the build.
  const std::array roots = {fs::path(from.path).parent_path(), fs::path("include"), fs::path("src"), fs::path()};
  for (const fs::path& root : roots) {
    const auto wanted = (root / include.path).lexically_normal().generic_string();
    const auto found = std::ranges::find(tree, wanted, &SourceFile::path);
    if (found != tree.end()) return &*found;
  }
  return nullptr;
}

std::string join_lines(const Violations& violations) {
  std::string joined;
  for (const std::string& violation : violations) joined += violation + "\n";
  return joined;
}

}  // namespace millrace::structure
