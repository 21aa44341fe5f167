// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/golden_rules.h"

#include <algorithm>

#include <doctest/doctest.h>

using namespace millrace::structure;

TEST_CASE("every golden file is used") {
  const std::vector<std::string> files = find_golden_files(MILLRACE_SOURCE_DIR);
  CHECK(std::ranges::find(files, "tests/jit/map/golden/cpu_contraction.txt") != files.end());
  CHECK(join_lines(check_golden_files_are_used(files, load_source_tree(MILLRACE_SOURCE_DIR))) == "");
}

TEST_CASE("the golden rule finds a file that no test next to its folder names") {
  const SourceTree tree = {{"tests/jit/map/a_test.cpp", "golden_problem(\"gpu_sum.txt\", text)"},
                           {"tests/jit/ir/a_test.cpp", "golden_problem(\"sum.txt\", text)"}};
  CHECK(check_golden_files_are_used({"tests/jit/ir/golden/sum.txt", "tests/jit/map/golden/gpu_sum.txt"}, tree).empty());
  CHECK(join_lines(check_golden_files_are_used({"tests/jit/map/golden/sum.txt"}, tree)) ==
        "tests/jit/map/golden/sum.txt:1: no test in tests/jit/map names it; delete it\n");
}
