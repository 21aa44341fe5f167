// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/graph.h"
#include "tests/support/random/random_choice.h"

namespace millrace::test {

/// What all values of such a graph are, but for the indices.
inline constexpr std::int64_t kStateRows = 5, kStateColumns = 3;
TensorType state_type();
/// The variables "v0", "v1", ...; number i begins with i + 1.
inline constexpr std::size_t kStateVariables = 3;

/// A graph of three variables, some of them updated: in place or not, by each other, by chains of scatters, by values
/// that are read again. Its inputs are `i`, two i64 indices from -5 to 4, and `x`.
Graph make_state_graph(RandomChoice& random);

}  // namespace millrace::test
