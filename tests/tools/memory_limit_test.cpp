// SPDX-License-Identifier: Apache-2.0
// Processes whose address space is limited from their start. Left out with sanitizers, which reserve more address space
// than the limits allow.
#include <cstdint>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/slice.h"
#include "tests/tools/workplace.h"

namespace millrace::test {
namespace {

/// Runs "millrace <arguments>" with at most `kib` KiB, and without a cache of compiled kernels.
ToolRun run_within(const Workplace& here, std::uint64_t kib, const std::string& arguments) {
  // The shell that runs it limits itself: the limit is its child's too.
  here.write("limited.sh", fmt::format("ulimit -v {}; rm -rf cache; XDG_CACHE_HOME=\"$PWD/cache\" exec '{}' {}", kib,
                                       MILLRACE_TOOL, arguments));
  return here.run_command("sh limited.sh");
}

/// The smallest limit with which the program can be loaded and print its version.
std::uint64_t find_minimum(const Workplace& here) {
  for (std::uint64_t kib = 4000;; kib += 1000) {
    REQUIRE(kib < 1'000'000);
    if (run_within(here, kib, "--version").exit_code == 0) return kib;
  }
}

TEST_CASE("within any limit of its address space, a run prints its results or reports that there is no memory") {
  const Workplace here;
  constexpr std::size_t kTrials = 200;
  constexpr std::uint64_t kEnough = 1'000'000;
  const std::uint64_t min_kib = find_minimum(here), max_kib = 350'000, step = (max_kib - min_kib) / kTrials;
  const Slice slice = tested_slice().within(kTrials);
  for (const int num_threads : {1, 3}) {
    const std::string arguments =
        fmt::format("run net.mr --input x=arange --input w=ones --device cpu:threads={}", num_threads);
    const ToolRun expected = run_within(here, kEnough, arguments);
    REQUIRE(expected.exit_code == 0);
    for (std::size_t i = 0; i < kTrials; ++i) {
      if (!slice.has(i)) continue;
      const std::uint64_t kib = min_kib + i * step;
      const ToolRun run = run_within(here, kib, arguments);
      CAPTURE(kib);
      CAPTURE(num_threads);
      CAPTURE(run.error);
      if (run.exit_code == 0) {
        CHECK(run.out == expected.out);
      } else {
        CHECK(run.exit_code == 1);
        CHECK(contains(run.error, "millrace: "));
        CHECK((contains(run.error, "memory") || contains(run.error, "cannot be started")));
      }
    }
  }
}

}  // namespace
}  // namespace millrace::test
