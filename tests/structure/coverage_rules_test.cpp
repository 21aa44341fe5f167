// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/coverage_rules.h"

#include <doctest/doctest.h>

using namespace millrace::structure;

namespace {

constexpr TestedTable kOps = {"include/millrace/ops/op_table.inc", "MILLRACE_OP", "Op", "tests/op_cases"};

}  // namespace

TEST_CASE("every op has a test row") {
  CHECK(join_lines(check_rows_are_tested(load_source_tree(MILLRACE_SOURCE_DIR), kOps)) == "");
}

TEST_CASE("the coverage rule finds an op without a test row, though another's name begins with its own") {
  const SourceFile table = {"include/millrace/ops/op_table.inc",
                            "// ops\nMILLRACE_OP(log, 1, 1)\nMILLRACE_OP(logical_not, 1, 1)\n"};
  const SourceFile cases = {"tests/op_cases.h", "{Op::logical_not, 0}"};
  const SourceFile elsewhere = {"tests/graph/text_test.cpp", "Op::log"};
  CHECK(join_lines(check_rows_are_tested({table, cases, elsewhere}, kOps)) ==
        "include/millrace/ops/op_table.inc: Op::log has no row in tests/op_cases\n");
  const SourceFile both = {"tests/op_cases.h", "{Op::logical_not, 0}, {Op::log, 0}"};
  CHECK(check_rows_are_tested({table, both}, kOps).empty());
}

TEST_CASE("the coverage rule finds that its table has gone") {
  CHECK(join_lines(check_rows_are_tested({}, kOps)) ==
        "include/millrace/ops/op_table.inc:1: has no row MILLRACE_OP(...)\n");
}
