// SPDX-License-Identifier: Apache-2.0
// Random valid graphs, printed, read back, compiled and run at several sizes on every ISA level, against the oracle.
//
//     random_graphs [SEED [COUNT]]     the tests' graphs, when nothing is said
//
// Says each seed that fails, with the smallest graph that still does; the exit code is then 1.
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "tests/support/check_random_graph.h"
#include "tests/support/random_graph.h"

int main(int argc, char** argv) {
  const std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : millrace::test::kTestedGraphs;
  std::uint64_t num_failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string report = millrace::test::check_random_graph(seed);
    if (!report.empty()) {
      fmt::print("{}\n", report);
      ++num_failed;
    }
    // Flushed, so that a crash is known to a hundred seeds.
    if ((seed - first + 1) % 100 == 0 || seed + 1 == first + count) {
      fmt::print("seeds {} to {}: {} failed\n", first, seed, num_failed);
      std::fflush(stdout);
    }
  }
  return num_failed == 0 ? 0 : 1;
}
