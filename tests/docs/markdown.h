// SPDX-License-Identifier: Apache-2.0
// The blocks of code in README.md and docs/, which the tests compile or run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::test {

/// One fenced block.
struct CodeBlock {
  std::string file;  // relative to the repository
  int line = 0;      // of the fence
  std::string language;
  std::string text;  // each line with its line feed

  std::string place() const { return file + ":" + std::to_string(line); }
};

/// The blocks of one text.
std::vector<CodeBlock> blocks_of(std::string_view file, std::string_view text);

/// The blocks of README.md and of each docs/*.md, in the order of their names.
std::vector<CodeBlock> read_documents(std::string_view language);

/// The lines of a text, without line feeds.
std::vector<std::string> lines_of(std::string_view text);

}  // namespace millrace::test
