// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/graph/graph.h"

namespace millrace::test {

/// A graph of many dispatches with many values in memory: chains, branches that meet again, concats, sorts with
/// scratch, of f32 matrices whose rows are numbers or, if symbolic, made from the symbols "n" and "m" (1 to 4096).
/// Equal seeds give equal graphs.
Graph make_random_network(std::uint64_t seed, bool is_symbolic);

}  // namespace millrace::test
