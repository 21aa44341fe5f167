// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/graph/testing.h"

namespace millrace::test {

/// A loop nest that an application could write, and arrays for its operands.
struct RandomNest {
  LoopKernel kernel;
  std::vector<testing::Array> operands;
  bool has_symbols = false, has_window = false, has_gather = false;
};

/// Maps, reductions and rows of several passes, with windows, gathers, symbols and several results. All values are
/// small integers, so that every order of summing gives the same results.
RandomNest random_nest(std::uint32_t seed);

}  // namespace millrace::test
