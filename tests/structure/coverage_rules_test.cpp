// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/coverage_rules.h"

#include <doctest/doctest.h>

using namespace millrace::structure;

namespace {

constexpr TestedTable ops_of(std::string_view macro) {
  return {"include/millrace/ops/op_table.inc", macro, "Op", "tests/op_cases"};
}
constexpr TestedTable kOps = ops_of("MILLRACE_OP");
constexpr TestedTable kKernelOps = {"include/millrace/jit/kernel_ops.inc", "MILLRACE_KERNEL_OP", "KernelOp",
                                    "tests/jit/"};

}  // namespace

TEST_CASE("every op has a test row") {
  for (const std::string_view macro : {"MILLRACE_OP", "MILLRACE_UNARY", "MILLRACE_BINARY"}) {
    CHECK(join_lines(check_rows_are_tested(load_source_tree(MILLRACE_SOURCE_DIR), ops_of(macro))) == "");
  }
}

// What each computes is tested by loops over the table, against a reference that these tests write down.
TEST_CASE("every kernel op is in the tests of the jit") {
  CHECK(join_lines(check_rows_are_tested(load_source_tree(MILLRACE_SOURCE_DIR), kKernelOps)) == "");
}

TEST_CASE("the coverage rule finds an op without a test row, though another's name begins with its own") {
  const SourceFile table = {"include/millrace/ops/op_table.inc",
                            "// ops\nMILLRACE_OP(log, 1, 1)\nMILLRACE_OP(logical_not, 1, 1)\n"};
  const SourceFile cases = {"tests/op_cases.h", "{Op::logical_not, 0}"};
  const SourceFile elsewhere = {"tests/graph/text/text_test.cpp", "Op::log"};
  CHECK(join_lines(check_rows_are_tested({table, cases, elsewhere}, kOps)) ==
        "include/millrace/ops/op_table.inc: Op::log has no row in tests/op_cases\n");
  const SourceFile both = {"tests/op_cases.h", "{Op::logical_not, 0}, {Op::log, 0}"};
  CHECK(check_rows_are_tested({table, both}, kOps).empty());
}

TEST_CASE("the coverage rule reads a row that is broken after its parenthesis") {
  const SourceFile table = {"include/millrace/jit/kernel_ops.inc",
                            "// ops\nMILLRACE_KERNEL_OP(\n    kConvert, \"convert\",\n    1)\n"};
  CHECK(join_lines(check_rows_are_tested({table}, kKernelOps)) ==
        "include/millrace/jit/kernel_ops.inc: KernelOp::kConvert has no row in tests/jit/\n");
  CHECK(check_rows_are_tested({table, {"tests/jit/a.kernel", "%1 = convert %0 : f32"}}, kKernelOps).empty());
  CHECK(!check_rows_are_tested({table, {"tests/jit/a.kernel", "%1 = converts %0 : f32"}}, kKernelOps).empty());
}

TEST_CASE("the coverage rule finds that its table is missing") {
  CHECK(join_lines(check_rows_are_tested({}, kOps)) ==
        "include/millrace/ops/op_table.inc:1: has no row MILLRACE_OP(...)\n");
}
