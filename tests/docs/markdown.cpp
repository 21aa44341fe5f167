// SPDX-License-Identifier: Apache-2.0
#include "tests/docs/markdown.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace millrace::test {

std::vector<std::string> lines_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<CodeBlock> blocks_of(std::string_view file, std::string_view text) {
  constexpr std::string_view kFence = "```";
  std::vector<CodeBlock> blocks;
  bool is_inside = false;
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    if (line.starts_with(kFence)) {
      is_inside = !is_inside;
      if (is_inside) blocks.push_back({std::string(file), number, line.substr(kFence.size()), ""});
    } else if (is_inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

std::vector<CodeBlock> read_documents(std::string_view language) {
  const std::filesystem::path root = MILLRACE_SOURCE_DIR;
  std::vector<std::filesystem::path> files = {root / "README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<CodeBlock> blocks;
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (CodeBlock& block : blocks_of(path.lexically_relative(root).string(), text)) {
      if (block.language == language) blocks.push_back(std::move(block));
    }
  }
  return blocks;
}

}  // namespace millrace::test
