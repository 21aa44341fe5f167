// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace millrace::test {

/// A graph that asks for long code: more of it than one kernel should have, if nothing cut it down.
struct CliffCase {
  std::string name;
  std::string graph;            // as text
  std::size_t max_kernels = 1;  // that differ, on any target
};

/// The worst that are known, a row each. tests/graph/compile/cliff_test.cpp bounds their code,
/// bench/jit/cliff_bench.cpp their time.
std::vector<CliffCase> cliff_cases();

}  // namespace millrace::test
