// SPDX-License-Identifier: Apache-2.0
// Random sorts and TopKs, each program with several inputs, all results against the oracle.
//
//     random_sorts [SEED [COUNT]]     the tests' programs without arguments
//
// On every ISA level of the host. Prints each seed that fails, with the smallest sort that still fails; the exit code
// is then 1.
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "tests/support/random/random_sort.h"

using namespace millrace::test;

int main(int argc, char** argv) {
  const std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 300;
  std::uint64_t num_failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string report = check_random_sorts(seed);
    if (!report.empty()) {
      fmt::print("{}\n", report);
      ++num_failed;
    }
    // Flushed, so that a crash is known to a hundred seeds.
    if ((seed - first + 1) % 100 == 0 || seed + 1 == first + count) {
      fmt::print("seeds {} to {}, {} sorts: {} seeds failed\n", first, seed, (seed - first + 1) * kRunsPerSort,
                 num_failed);
      std::fflush(stdout);
    }
  }
  return num_failed == 0 ? 0 : 1;
}
