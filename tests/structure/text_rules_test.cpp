// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/text_rules.h"

#include <fstream>

#include <doctest/doctest.h>

using namespace millrace::structure;

TEST_CASE("every file begins with its licence line") {
  CHECK(join_lines(check_licence_lines(load_source_tree(MILLRACE_SOURCE_DIR))) == "");
}

TEST_CASE("the licence rule finds a file without the line, and one where it is not the first") {
  const std::string line = "// SPDX-License-Identifier: Apache-2.0\n";
  CHECK(check_licence_lines({{"src/base/a.cpp", line + "int a;\n"}}).empty());
  CHECK(join_lines(check_licence_lines({{"src/base/a.cpp", ""}, {"src/base/b.cpp", "\n" + line}})) ==
        "src/base/a.cpp:1: does not begin with // SPDX-License-Identifier: Apache-2.0\n"
        "src/base/b.cpp:1: does not begin with // SPDX-License-Identifier: Apache-2.0\n");
}
