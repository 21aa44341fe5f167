// SPDX-License-Identifier: Apache-2.0
// Random valid graphs, printed, read back, compiled and run at several sizes, every output against the oracle.
//
//     random_graphs [--device DEVICE] [--large] [SEED [COUNT]]     the tests' graphs without arguments
//
// On every ISA level of the host, or on the device, such as sim:gfx1100 or isa:gfx1100,seed=3. Large graphs have rows
// of thousands and more sorts, selections, scans and reductions. Prints each seed that fails, with the smallest graph
// that still fails; the exit code is then 1.
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tests/support/random/check_random_graph.h"
#include "tests/support/random/random_graph.h"

using namespace millrace::test;

int main(int argc, char** argv) {
  RandomGraphRun run;
  std::vector<std::uint64_t> numbers;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--device" && i + 1 < argc) {
      run.device = argv[++i];
    } else if (argument == "--large") {
      run.size = GraphSize::kLarge;
    } else {
      numbers.push_back(std::strtoull(argv[i], nullptr, 10));
    }
  }
  const std::uint64_t first = numbers.empty() ? 1 : numbers[0], count = numbers.size() < 2 ? kTestedGraphs : numbers[1];
  std::uint64_t num_failed = 0;
  ElementTally tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string report = check_random_graph(seed, run, &tally);
    if (!report.empty()) {
      fmt::print("{}\n", report);
      ++num_failed;
    }
    // Flushed, so that a crash is known to a hundred seeds.
    if ((seed - first + 1) % 100 == 0 || seed + 1 == first + count) {
      fmt::print("seeds {} to {}: {} failed; of the outputs' elements {} known, {} bounded, {} open\n", first, seed,
                 num_failed, tally.known, tally.bounded, tally.open);
      std::fflush(stdout);
    }
  }
  // Single graphs may leave much open; many do not, or the oracle has become blind.
  const std::uint64_t num_elements = tally.known + tally.bounded + tally.open;
  if (count >= 100 && tally.open > num_elements / 10) {
    fmt::print("{} of {} elements were compared with nothing, expected 10 % at most\n", tally.open, num_elements);
    return 1;
  }
  return num_failed == 0 ? 0 : 1;
}
