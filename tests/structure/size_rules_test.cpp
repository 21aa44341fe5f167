// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/size_rules.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace millrace::structure;

TEST_CASE("no file is too long to be one concept") {
  CHECK(join_lines(check_file_lengths(load_source_tree(MILLRACE_SOURCE_DIR))) == "");
}

TEST_CASE("the length rule counts lines") {
  const SourceFile longest = {"src/base/a.cpp", std::string(kMaxLines, '\n')};
  const SourceFile longer = {"src/base/b.cpp", std::string(kMaxLines + 1, '\n')};
  CHECK(join_lines(check_file_lengths({longest, longer})) ==
        "src/base/b.cpp:401: 401 lines, at most 400; divide it by concept\n");
}

TEST_CASE("no folder is too full to look around in") {
  CHECK(join_lines(check_folder_sizes(load_source_tree(MILLRACE_SOURCE_DIR))) == "");
}

TEST_CASE("the rule for folders counts the files at their top") {
  SourceTree tree = {{"src/base/text/a.cpp", ""}};
  for (int i = 0; i < kMaxFolderFiles; ++i) tree.push_back({fmt::format("src/base/{}.cpp", i), ""});
  CHECK(check_folder_sizes(tree).empty());
  tree.push_back({"src/base/a.h", ""});
  CHECK(join_lines(check_folder_sizes(tree)) ==
        "src/base:1: 41 files, at most 40; give what belongs together a folder of its own\n");
}

TEST_CASE("no function is longer than a screen") {
  CHECK(join_lines(check_function_lengths(load_source_tree(MILLRACE_SOURCE_DIR))) == "");
}

TEST_CASE("the rule for functions counts the lines between braces") {
  const auto function = [](int lines) {
    std::string text = "  int f(int a,\n        int b) const {\n";
    for (int i = 0; i < lines; ++i) text += "    if (a) {\n    }\n";
    return text + "  }\n";
  };
  CHECK(check_function_lengths({{"src/a.cpp", function(30)}}).empty());
  CHECK(join_lines(check_function_lengths({{"src/a.cpp", "\n" + function(31)}})) ==
        "src/a.cpp:3: a function of 62 lines, at most 60; divide it by what it does\n");
}

TEST_CASE("no two files have the same twelve lines") {
  CHECK(join_lines(check_equal_lines(load_source_tree(MILLRACE_SOURCE_DIR))) == "");
}

TEST_CASE("the rule for equal lines looks past comments and indentation") {
  std::string lines, indented = "\n";
  for (int i = 0; i < 12; ++i) {
    lines += fmt::format("f({});\n", i);
    indented += fmt::format("  f({});\n// {}\n", i, i);
  }
  CHECK(join_lines(check_equal_lines({{"src/a.cpp", lines}, {"src/b.cpp", indented}})) ==
        "src/b.cpp:2: 12 lines are those of src/a.cpp:1; give them one place\n");
  CHECK(check_equal_lines({{"src/a.cpp", lines}, {"src/b.cpp", indented.substr(0, 120)}}).empty());
}
