// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/graph.h"

namespace millrace::test {

/// A loop in a branch in a loop, with kernels before, between and behind them:
///
///     y = sort(x)
///     for (i = 0; i < 3; ++i)
///       if (i > 0) { while (sum(y) < 100) y = y * y + 1;  y = sort(y) } else y = gather(-y, at)
///     return y = sort(y + sort(x)), sum = sum(y)
///
/// x and y are f32[8]; at is an i64[8].
Graph nested_graph();

}  // namespace millrace::test
