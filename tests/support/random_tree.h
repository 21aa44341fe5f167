// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/graph/graph.h"

namespace millrace::test {

/// A tree of concats, stacks and pads over producers of many kinds. Where it has a symbolic extent, that is `n`, from 1
/// to 3 at least.
Graph make_random_tree(std::uint64_t seed);

}  // namespace millrace::test
