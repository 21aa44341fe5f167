// SPDX-License-Identifier: Apache-2.0
// Mistakes of an application that must not compile, and the compiler's messages.
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/structure/compiler.h"

using namespace millrace::structure;

namespace {

/// A function of two tensors that returns the expression.
CompilerRun compile_expression(const std::string& expression) {
  return compile_alone(std::filesystem::path(MILLRACE_SOURCE_DIR) / "include",
                       fmt::format("#include \"millrace/graph/functions.h\"\n"
                                   "auto f(millrace::Tensor x, [[maybe_unused]] millrace::Tensor y) {{ return {}; }}\n"
                                   "auto use = f(millrace::Tensor(), millrace::Tensor());\n",
                                   expression));
}

}  // namespace

TEST_CASE("== and != of tensors do not compile, and the compiler names the functions that build nodes") {
  for (const std::string expression : {"x == y", "x == 1", "2.5 == x"}) {
    CAPTURE(expression);
    const CompilerRun run = compile_expression(expression);
    CHECK(!run.succeeded);
    CHECK_MESSAGE(run.output.find("== does not compare tensors: equal(x, y) builds a node, x.value() == y.value() "
                                  "compares handles") != std::string::npos,
                  run.output);
  }
  for (const std::string expression : {"x != y", "x != 1", "2.5 != x"}) {
    CAPTURE(expression);
    const CompilerRun run = compile_expression(expression);
    CHECK(!run.succeeded);
    CHECK_MESSAGE(run.output.find("!= does not compare tensors: not_equal(x, y) builds a node, x.value() != y.value() "
                                  "compares handles") != std::string::npos,
                  run.output);
  }
}

TEST_CASE("the advice of those messages, and the other comparisons, compile") {
  for (const std::string expression : {"equal(x, y)", "not_equal(x, 1)", "x.value() == y.value()", "x < y", "2 >= x"}) {
    CAPTURE(expression);
    const CompilerRun run = compile_expression(expression);
    CHECK_MESSAGE(run.succeeded, run.output);
  }
}

TEST_CASE("a comparison of tensors cannot be a condition of C++") {
  CHECK(!compile_expression("x < y ? 1 : 0").succeeded);
}
