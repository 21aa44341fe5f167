// SPDX-License-Identifier: Apache-2.0
// Memory that runs out inside LLVM, in child processes, because LLVM cannot be used afterwards.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <sys/wait.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/slice.h"

namespace millrace::test {
namespace {

struct Ended {
  int status = -1;
  std::string text;  // standard output and error
  bool is_clean() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
};

Ended run_child(const std::string& arguments) {
  Ended ended;
  std::FILE* output = popen(fmt::format("{} {} 2>&1", MILLRACE_LLVM_MEMORY_CHILD, arguments).c_str(), "r");
  REQUIRE(output != nullptr);
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, output)) ended.text.append(buffer, size);
  ended.status = pclose(output);
  return ended;
}

/// Runs the selected ones of `total` children, and returns how many of them reported no memory.
template <class Arguments>
std::size_t count_refused(std::size_t total, Arguments arguments_of) {
  const Slice slice = tested_slice().within(total);
  std::size_t num_refused = 0;
  for (std::size_t i = 0; i < total; ++i) {
    if (!slice.has(i)) continue;
    const std::string arguments = arguments_of(i);
    CAPTURE(arguments);
    const Ended ended = run_child(arguments);
    CAPTURE(ended.text);
    CHECK(ended.is_clean());
    num_refused += ended.text.starts_with("ok\n") ? 0 : 1;
  }
  return num_refused;
}

TEST_CASE("memory that runs out inside LLVM is the compile call's status, and the process goes on and ends normally") {
  constexpr std::size_t kTrials = 500;
  const Ended counted = run_child("count");
  CAPTURE(counted.text);
  REQUIRE(counted.is_clean());
  const std::uint64_t num_allocations = std::stoull(counted.text.substr(counted.text.find('\n') + 1));
  REQUIRE(num_allocations > 10 * kTrials);
  for (const char* which : {"one", "from"}) {
    CAPTURE(which);
    const std::size_t num_refused = count_refused(
        kTrials, [&](std::size_t i) { return fmt::format("{} {}", which, i * num_allocations / kTrials); });
    CHECK(num_refused > 0);
  }
}

TEST_CASE("within any limit of its address space, a process compiles or reports that there is no memory") {
  constexpr std::uint64_t kStep = std::uint64_t{2} << 20, kMaxBytes = std::uint64_t{1} << 30;
  for (const int num_threads : {1, 4}) {
    CAPTURE(num_threads);
    const auto within = [&](std::uint64_t bytes) { return fmt::format("limit {} {}", bytes, num_threads); };
    const Ended without = run_child(within(0)), with_all = run_child(within(kMaxBytes));
    CAPTURE(without.text);
    CAPTURE(with_all.text);
    CHECK((without.is_clean() && !without.text.starts_with("ok\n")));
    CHECK((with_all.is_clean() && with_all.text == "ok\n"));
    count_refused(300, [&](std::size_t i) { return within(i * kStep); });
  }
}

}  // namespace
}  // namespace millrace::test
