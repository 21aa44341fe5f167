// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/graph/graph.h"

namespace millrace::test {

/// A tree of concats, stacks and pads over producers of many kinds. If it has a symbolic extent, this is `n`, which may
/// be at least 1, 2 and 3.
Graph make_random_tree(std::uint64_t seed);

}  // namespace millrace::test
