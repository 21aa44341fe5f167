// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/text_rules.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

using namespace millrace::structure;

TEST_CASE("no file is too long to be one concept") {
  CHECK(join_lines(check_file_lengths(load_source_tree(MILLRACE_SOURCE_DIR))) == "");
}

TEST_CASE("the length rule counts lines") {
  const SourceFile longest = {"src/base/a.cpp", std::string(kMaxLines, '\n')};
  const SourceFile longer = {"src/base/b.cpp", std::string(kMaxLines + 1, '\n')};
  CHECK(join_lines(check_file_lengths({longest, longer})) ==
        "src/base/b.cpp:501: 501 lines, at most 500; divide it by concept\n");
}

TEST_CASE("every file begins with its licence line") {
  CHECK(join_lines(check_licence_lines(load_source_tree(MILLRACE_SOURCE_DIR))) == "");
}

TEST_CASE("the licence rule finds a file without the line, and one where it comes late") {
  const std::string line = "// SPDX-License-Identifier: Apache-2.0\n";
  CHECK(check_licence_lines({{"src/base/a.cpp", line + "int a;\n"}}).empty());
  CHECK(join_lines(check_licence_lines({{"src/base/a.cpp", ""}, {"src/base/b.cpp", "\n" + line}})) ==
        "src/base/a.cpp:1: does not begin with // SPDX-License-Identifier: Apache-2.0\n"
        "src/base/b.cpp:1: does not begin with // SPDX-License-Identifier: Apache-2.0\n");
}

TEST_CASE("the README shows the program that the tests run") {
  std::ifstream file(std::filesystem::path(MILLRACE_SOURCE_DIR) / "README.md");
  const std::string readme(std::istreambuf_iterator<char>(file), {});
  CHECK(join_lines(check_readme_program(readme, load_source_tree(MILLRACE_SOURCE_DIR))) == "");
}

TEST_CASE("the README rule finds a program that has changed") {
  const SourceTree tree = {
      {"examples/first_program.cpp", "// SPDX-License-Identifier: Apache-2.0\nint main() { return 1; }\n"}};
  CHECK(check_readme_program("text\n```cpp\nint main() { return 1; }\n```\n", tree).empty());
  CHECK(join_lines(check_readme_program("text\n```cpp\nint main() { return 0; }\n```\n", tree)) ==
        "README.md:1: does not show examples/first_program.cpp as it is; copy it there, without its first line\n");
  CHECK(check_readme_program("text\n", {}).size() == 1);
}
