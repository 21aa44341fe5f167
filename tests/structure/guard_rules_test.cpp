// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/guard_rules.h"

#include <doctest/doctest.h>

using namespace millrace::structure;

TEST_CASE("no public function lets an exception pass when memory runs out") {
  CHECK(join_lines(check_public_functions_are_guarded(load_source_tree(MILLRACE_SOURCE_DIR))) == "");
}

TEST_CASE("the guard rule finds public functions without a guard, and no others") {
  const SourceFile header = {"include/millrace/graph/a.h",
                             "class A {\n public:\n  static Result<A> open(const std::string& path);\n"
                             "  virtual Status run() = 0;\n  Status here() { return {}; }\n\n"
                             " private:\n  Status inner();\n};\n"
                             "Status write(const A&, int count = 0);\nStatus write(const A&);\n"};
  const auto check = [&](const std::string& source) {
    return join_lines(check_public_functions_are_guarded({header, {"src/graph/a.cpp", source}}));
  };
  CHECK(check("Result<A> A::open(const std::string& path) {\n  return A(path);\n}\n") ==
        "src/graph/a.cpp:1: A::open is public; run it in guard_allocations()\n");
  CHECK(check("\nStatus write(const A& a, int count) {\n  return {};\n}\n") ==
        "src/graph/a.cpp:2: write is public; run it in guard_allocations()\n");
  CHECK(check("Status write(const A& a) {\n  return guard_allocations([&] { return f(a); });\n}\n") == "");
  CHECK(check("Status write(const A& a) { return write(a, 0); }\n") == "");
  CHECK(check("namespace {\nStatus write(const A& a) {\n  return {};\n}\n}  // namespace\n") == "");
  CHECK(check("static Status write(const A& a) {\n  return {};\n}\n") == "");
  CHECK(check("Status write(const B& b) {\n  return {};\n}\nStatus A::inner() {\n  return {};\n}\n") == "");
}
