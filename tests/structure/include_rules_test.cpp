// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/include_rules.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace millrace::structure;

namespace {

const SourceTree& repository() {
  static const SourceTree tree = load_source_tree(MILLRACE_SOURCE_DIR);
  return tree;
}

/// A tree that keeps every rule; each seeded violation below adds one file to it.
SourceTree good_tree_and(SourceFile file) {
  return {{"include/millrace/base/status.h", "#include <string>\n"},
          {"include/millrace/hal/device.h", "#include \"millrace/base/status.h\"\n"},
          {"include/millrace/ops/op.h", "#include \"millrace/base/status.h\"\n"},
          {"src/graph/session.cpp", "#include \"millrace/hal/device.h\"\n#include <fmt/format.h>\n"},
          {"src/jit/llvm/emit.cpp", "#include <llvm/IR/IRBuilder.h>\n"},
          {"tests/reference/dot.cpp", "#include <Eigen/Core>\n#include \"millrace/ops/op.h\"\n"},
          std::move(file)};
}

/// The headers that a header includes, directly or not, as its lines spell them.
std::set<std::string> reached_from(const SourceTree& tree, const SourceFile& file) {
  std::set<std::string> reached;
  std::vector<const SourceFile*> open = {&file};
  while (!open.empty()) {
    const SourceFile* from = open.back();
    open.pop_back();
    for (const Include& include : includes_of(*from)) {
      if (!reached.insert(std::string(include.path)).second || !include.quoted) continue;
      if (const SourceFile* to = resolve_include(tree, *from, include)) open.push_back(to);
    }
  }
  return reached;
}

}  // namespace

TEST_CASE("the source tree is found and its includes are read") {
  CHECK(repository().size() > 10);
  const SourceFile file = {"src/base/a.cpp", "// x\n#include <vector>\n  #  include \"b.h\"\n#define include\n"};
  const auto includes = includes_of(file);
  REQUIRE(includes.size() == 2);
  CHECK(includes[0].path == "vector");
  CHECK_FALSE(includes[0].quoted);
  CHECK(includes[1].path == "b.h");
  CHECK(includes[1].quoted);
  CHECK(includes[1].line == 3);
}

TEST_CASE("files that run programs include nothing that compiles") {
  CHECK(join_lines(check_running_half(repository())) == "");
}

TEST_CASE("a file that runs programs and includes one that compiles is found, also through another header") {
  const SourceTree tree = {{"include/millrace/jit/algorithm.h", ""},
                           {"include/millrace/graph/dispatch.h", "#include \"millrace/jit/algorithm.h\"\n"},
                           {"src/graph/text/names.h", ""},
                           {"src/graph/compile/compile.cpp", "#include \"millrace/graph/dispatch.h\"\n"},
                           {"src/graph/run/session.cpp",
                            "#include \"graph/text/names.h\"\n"
                            "#include \"millrace/graph/dispatch.h\"\n"}};
  CHECK(
      join_lines(check_running_half(tree)) ==
      "src/graph/run/session.cpp:1: includes src/graph/text/names.h, and what runs programs reaches it; it stands with "
      "what compiles\n"
      "include/millrace/graph/dispatch.h:1: includes include/millrace/jit/algorithm.h, and what runs programs reaches "
      "it; it stands with what compiles\n");
}

TEST_CASE("a file includes its own layer or layers to its right") {
  CHECK(join_lines(check_include_arrows(repository())) == "");
}

TEST_CASE("the arrow rule finds a layer that includes to its left") {
  const auto tree = good_tree_and({"src/base/status.cpp", "\n#include \"millrace/hal/device.h\"\n"});
  CHECK(join_lines(check_include_arrows(tree)) ==
        "src/base/status.cpp:2: includes include/millrace/hal/device.h, which stands to its left; the arrow is tests, "
        "tools, examples, bench -> graph -> ops -> jit -> hal -> base, and isa -> jit\n");
}

TEST_CASE("the arrow rule finds a layer that includes to its left by a relative path") {
  const auto tree = good_tree_and({"include/millrace/base/shape.h", "#include \"../hal/device.h\"\n"});
  CHECK(check_include_arrows(tree).size() == 1);
}

TEST_CASE("the arrow rule finds a library file that includes a test's") {
  const auto tree = good_tree_and({"src/graph/run.cpp", "#include \"tests/reference/dot.cpp\"\n"});
  CHECK(check_include_arrows(tree).size() == 1);
}

TEST_CASE("the arrow rule finds a quoted include of no file of ours") {
  const auto tree = good_tree_and({"src/graph/run.cpp", "#include \"Eigen/Core\"\n"});
  CHECK(join_lines(check_include_arrows(tree)) ==
        "src/graph/run.cpp:1: includes \"Eigen/Core\", which is no file of this repository; use <...> for others' "
        "headers\n");
}

TEST_CASE("the library does not include the executor of machine code") {
  CHECK(join_lines(check_executor_apart(repository())) == "");
}

TEST_CASE(
    "a file of the library that includes the executor of machine code is found, but a tool that includes it is not") {
  const SourceTree tree = {{"include/millrace/isa/driver.h", ""},
                           {"src/isa/execute.h", ""},
                           {"src/isa/device/driver.cpp", "#include \"millrace/isa/driver.h\"\n"},
                           {"tools/millrace/counts.cpp", "#include \"millrace/isa/driver.h\"\n"},
                           {"src/hal/sim/sim_device.cpp", "#include \"isa/execute.h\"\n"},
                           {"src/graph/compile/default_context.cpp", "\n#include \"millrace/isa/driver.h\"\n"}};
  CHECK(join_lines(check_executor_apart(tree)) ==
        "src/hal/sim/sim_device.cpp:1: includes src/isa/execute.h, which is of the library millrace_isa; millrace "
        "does not need it\n"
        "src/graph/compile/default_context.cpp:2: includes include/millrace/isa/driver.h, which is of the library "
        "millrace_isa; millrace does not need it\n");
}

TEST_CASE("a foreign header is included in the files made for it only") {
  CHECK(join_lines(check_foreign_headers(repository())) == "");
}

TEST_CASE("the foreign header rule finds each library out of its place") {
  const auto found = [](const char* path, const char* text) {
    return join_lines(check_foreign_headers(good_tree_and({path, text})));
  };
  CHECK(found("src/jit/cache.cpp", "#include <llvm/IR/Module.h>\n") ==
        "src/jit/cache.cpp:1: includes <llvm/IR/Module.h>, which belongs in src/jit/llvm/, tests/llvm_link/, "
        "tests/isa_witness/ only\n");
  CHECK(found("src/jit/llvm_client/orc.cpp", "#include <xbyak/xbyak.h>\n") ==
        "src/jit/llvm_client/orc.cpp:1: includes <xbyak/xbyak.h>, which belongs in src/jit/xbyak/ only\n");
  CHECK(found("src/hal/cpu/device.cpp", "#include <hip/hip_runtime_api.h>\n") ==
        "src/hal/cpu/device.cpp:1: includes <hip/hip_runtime_api.h>, which belongs in src/hal/hip/, "
        "tests/hal/hip/headers_test.cpp only\n");
  CHECK(found("src/ops/dot.cpp", "#include <Eigen/Core>\n") ==
        "src/ops/dot.cpp:1: includes <Eigen/Core>, which belongs in tests/reference/, include/millrace/interop, bench/ "
        "only\n");
  CHECK(found("src/hal/hip/device.cpp", "#include <hip/hip_runtime_api.h>\n") == "");
}

TEST_CASE("a public header includes the standard library and public headers only") {
  CHECK(join_lines(check_public_headers(repository())) == "");
}

TEST_CASE("the public header rule finds foreign and private headers") {
  const auto foreign = good_tree_and({"include/millrace/jit/a.h", "#include <fmt/format.h>\n"});
  CHECK(join_lines(check_public_headers(foreign)) ==
        "include/millrace/jit/a.h:1: includes <fmt/format.h>; a public header includes the standard library and "
        "include/millrace only\n");
  const auto with_private = good_tree_and({"include/millrace/graph/a.h", "#include \"graph/session.cpp\"\n"});
  CHECK(join_lines(check_public_headers(with_private)) ==
        "include/millrace/graph/a.h:1: includes \"graph/session.cpp\"; a public header includes the standard library "
        "and include/millrace only\n");
  const auto interop = good_tree_and({"include/millrace/interop_eigen.h", "#include <Eigen/Core>\n"});
  CHECK(check_public_headers(interop).empty());
}

TEST_CASE("the oracle is independent of the code that it tests") {
  CHECK(join_lines(check_oracle_independence(repository())) == "");
}

TEST_CASE("the oracle rule finds an oracle that includes a layer") {
  const auto tree = good_tree_and({"tests/reference/sort.cpp", "#include \"millrace/hal/device.h\"\n"});
  CHECK(join_lines(check_oracle_independence(tree)) ==
        "tests/reference/sort.cpp:1: includes \"millrace/hal/device.h\"; the oracle includes the standard library, "
        "Eigen, base/ and ops/op.h only\n");
}

// Each of these costs whoever includes millrace.h a tenth of a second or more.
TEST_CASE("headers for applications include no machine code, devices, locks, clocks and function objects") {
  const SourceTree& tree = repository();
  const auto file = std::ranges::find(tree, "include/millrace/millrace.h", &SourceFile::path);
  REQUIRE(file != tree.end());
  const std::set<std::string> reached = reached_from(tree, *file);
  CHECK(reached.contains("millrace/graph/graph.h"));
  for (const char* heavy :
       {"millrace/jit/machine_kernel.h", "millrace/jit/memory_plan.h", "millrace/jit/kernel_compiler.h",
        "millrace/jit/algorithm.h", "millrace/hal/device.h", "millrace/hal/semaphore.h", "chrono", "functional",
        "iostream", "mutex", "regex", "thread", "unordered_map"}) {
    CAPTURE(heavy);
    CHECK_FALSE(reached.contains(heavy));
  }
}
