// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/symbol_rules.h"

#include <algorithm>
#include <cstdio>

#include <doctest/doctest.h>

using namespace millrace::runtime_test;

namespace {

/// The symbols of the objects that the build lists in a file.
Symbols symbols_of(const std::string& list) {
  const std::string command = std::string(MILLRACE_NM) + " --format=posix @" MILLRACE_OBJECT_LISTS "/" + list;
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  char chunk[65536];
  while (const std::size_t size = fread(chunk, 1, sizeof chunk, pipe)) output.append(chunk, size);
  REQUIRE(pclose(pipe) == 0);
  return parse_symbols(output);
}

bool any_has(const std::vector<std::string>& names, std::string_view part) {
  return std::ranges::any_of(names, [&](const std::string& name) { return name.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("the runtime half has no symbol of the compiling half, and none of LLVM") {
  const Symbols running = symbols_of("running_objects.txt"), compiling = symbols_of("compiling_objects.txt");
  REQUIRE(any_has(running.strong, "7Session3run"));
  REQUIRE(any_has(compiling.strong, "8millrace7compile"));
  REQUIRE(any_has(compiling.strong, "11plan_memory"));
  const std::vector<std::string> found = find_foreign_symbols(running, compiling);
  CHECK_MESSAGE(found.empty(), (found.empty() ? std::string() : found.front()));
}

TEST_CASE("foreign symbols are found") {
  const Symbols compiling = parse_symbols("_ZN8millrace7compileEv T 0 8\n");
  const auto check = [&](const char* running) { return find_foreign_symbols(parse_symbols(running), compiling); };
  using Lines = std::vector<std::string>;
  CHECK(check("a.o:\n_ZN8millrace3runEv T 0 8\nmalloc U\n").empty());
  CHECK(check("_ZN8millrace7compileEv U\n") == Lines{"_ZN8millrace7compileEv: the compiling half's",
                                                     "_ZN8millrace7compileEv: wanted, and not in the running half"});
  CHECK(check("_ZN8millrace7compileEv T 0 8\n") == Lines{"_ZN8millrace7compileEv: the compiling half's"});
  CHECK(check("_ZN4llvm6ModuleC1Ev W 0 8\n") == Lines{"_ZN4llvm6ModuleC1Ev: a code generator's"});
  CHECK(check("_ZN8millrace4lostEv U\n") == Lines{"_ZN8millrace4lostEv: wanted, and not in the running half"});
  CHECK(check("_ZN8millrace4hereEv U\n_ZN8millrace4hereEv W 0 8\n").empty());
}
