// SPDX-License-Identifier: Apache-2.0
// The code that a reader copies from the documents is the code that the tests compile and run.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include <doctest/doctest.h>

#include "millrace/graph/safetensors.h"
#include "millrace/graph/text.h"
#include "tests/docs/markdown.h"
#include "tests/jit/cache/temporary_directory.h"

namespace millrace {
namespace {

using test::CodeBlock;
using Lines = std::vector<std::string>;

/// The lines without the indentation that all of them share. Empty lines have none.
Lines without_indentation(Lines lines) {
  std::size_t shared = std::string::npos;
  for (const std::string& line : lines) {
    if (!line.empty()) shared = std::min(shared, line.find_first_not_of(' '));
  }
  for (std::string& line : lines) {
    if (!line.empty()) line.erase(0, shared);
  }
  return lines;
}

/// Whether the block's lines follow each other in the source, perhaps indented.
bool has_lines(const Lines& source, const Lines& block) {
  for (std::size_t first = 0; first + block.size() <= source.size(); ++first) {
    const auto begin = source.begin() + static_cast<std::ptrdiff_t>(first);
    const auto is_same = [](const std::string& a, const std::string& b) {
      return a.substr(std::min(a.size(), a.find_first_not_of(' '))) ==
             b.substr(std::min(b.size(), b.find_first_not_of(' ')));
    };
    if (!is_same(*begin, block[0])) continue;
    if (without_indentation({begin, begin + static_cast<std::ptrdiff_t>(block.size())}) == block) return true;
  }
  return false;
}

/// The programs that a build compiles and a test runs: all examples, and the guides' own.
std::vector<Lines> read_programs() {
  std::vector<Lines> programs;
  const std::filesystem::path root = MILLRACE_SOURCE_DIR;
  for (const char* folder : {"examples", "tests/docs"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".cpp") continue;
      std::ifstream file(entry.path());
      programs.push_back(test::lines_of(std::string(std::istreambuf_iterator<char>(file), {})));
    }
  }
  return programs;
}

TEST_CASE("each C++ block of the documents is part of a program that is compiled and run") {
  const std::vector<Lines> programs = read_programs();
  const std::vector<CodeBlock> blocks = test::read_documents("cpp");
  CHECK(blocks.size() > 20);
  for (const CodeBlock& block : blocks) {
    INFO(block.place() << " is in no .cpp of examples/ or tests/docs/ as it stands:\n" << block.text);
    const Lines lines = without_indentation(test::lines_of(block.text));
    CHECK(std::ranges::any_of(programs, [&](const Lines& program) { return has_lines(program, lines); }));
  }
}

TEST_CASE("a block that differs by a line is found") {
  const Lines program = {"int main() {", "  f(1);", "", "  g(2);", "}"};
  CHECK(has_lines(program, {"f(1);", "", "g(2);"}));
  CHECK_FALSE(has_lines(program, {"f(1);", "g(2);"}));
  CHECK_FALSE(has_lines(program, {"f(1);", "", "g(3);"}));
  CHECK_FALSE(has_lines(program, {"g(2);", "}", "h();"}));
}

TEST_CASE("each graph of the documents is read") {
  const TemporaryDirectory directory;
  const std::vector<float> bias(32000);
  REQUIRE(write_safetensors(directory.path() + "/weights.safetensors",
                            {{"bias", {{DType::kF32, {32000}}, std::as_bytes(std::span(bias))}}})
              .ok());
  const std::vector<CodeBlock> blocks = test::read_documents("mr");
  CHECK(blocks.size() >= 2);
  for (const CodeBlock& block : blocks) {
    CAPTURE(block.place());
    const Result<Graph> graph = parse_graph(block.text, {.directory = directory.path()});
    CHECK_MESSAGE(graph.ok(), graph.status().message());
  }
}

TEST_CASE("each block of the documents has a language that a test knows") {
  for (const CodeBlock& block : test::read_documents("")) {
    FAIL_CHECK(block.place() << ": a block without a language; indent what is not to be run");
  }
}

TEST_CASE("blocks are found with their lines") {
  const std::vector<CodeBlock> blocks = test::blocks_of("a.md", "text\n```cpp\nf();\n\ng();\n```\n```sh\nls\n```\n");
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].place() == "a.md:2");
  CHECK(blocks[0].language == "cpp");
  CHECK(blocks[0].text == "f();\n\ng();\n");
  CHECK(blocks[1].text == "ls\n");
}

}  // namespace
}  // namespace millrace
