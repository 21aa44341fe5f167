// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/prose_rules.h"

#include <doctest/doctest.h>

using namespace millrace::structure;

TEST_CASE("no comment or message has a tell-tale of prose that is read twice") {
  CHECK(join_lines(check_tell_tales(load_source_tree(MILLRACE_SOURCE_DIR), tell_tales())) == "");
}

TEST_CASE("the tell-tale rule finds a phrase, except where it is allowed") {
  const std::vector<TellTale> tales = {{"so many", "a number", {"so many years"}}};
  const SourceTree tree = {{"src/base/a.cpp", "// so many bytes\n// for so many years\n"},
                           {"tests/b.cpp", "// so many\n"}};
  CHECK(join_lines(check_tell_tales(tree, tales)) == "src/base/a.cpp:1: 'so many'; say a number\n");
}

TEST_CASE("each source file, or its header, begins with what it is for") {
  CHECK(join_lines(check_opening_sentences(load_source_tree(MILLRACE_SOURCE_DIR))) == "");
}

TEST_CASE("the opening rule takes the sentence of a file or of its header") {
  const std::string licence = "// SPDX-License-Identifier: Apache-2.0\n";
  const SourceTree tree = {{"src/base/a.cpp", licence + "// Reads files.\n#include <vector>\n"},
                           {"src/base/b.cpp", licence + "#include \"base/b.h\"\n\n#include <vector>\n"},
                           {"src/base/b.h", licence + "// Writes files.\n#pragma once\n"},
                           {"src/base/c.cpp", licence + "#include <vector>\n\nint c;\n\n// Too late.\n"},
                           {"tests/d.cpp", licence + "int d;\n"}};
  CHECK(join_lines(check_opening_sentences(tree)) ==
        "src/base/c.cpp:2: begins without a sentence that says what the file is for\n");
}
