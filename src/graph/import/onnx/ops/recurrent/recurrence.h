// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "graph/import/onnx/ops/recurrent/gate_function.h"
#include "millrace/graph/builder.h"

namespace millrace {

/// A recurrent layer, whatever its cell. Floats are f32 or f64. A Tensor without a builder is absent.
struct Recurrence {
  Tensor x;        // [steps, batch, input]
  Tensor weights;  // [directions, gates * hidden, input]
  Tensor bias;     // [directions, gates * hidden], for the products of x; absent: 0
  Tensor lengths;  // i64 [batch]: the number of steps of each sequence; absent: all of them
  /// Whether each direction runs from the last step to the first.
  std::vector<bool> are_reversed;
  /// The state before the first step, each tensor [directions, batch, hidden]. The first tensor is also a step's
  /// output.
  std::vector<Tensor> initial;
  /// Computes the next state from the current state and from the products of one step's x, which have the shape
  /// [directions, batch, gates * hidden].
  std::function<std::vector<Tensor>(Tensor products, std::span<const Tensor> state)> cell;
};

struct RecurrenceResults {
  Tensor outputs;             // [steps, directions, batch, hidden]
  std::vector<Tensor> state;  // after the last step of each sequence
};

/// After the end of a sequence, outputs are 0. A sequence of length 0 has a state of zeros, as in ONNX Runtime.
RecurrenceResults run_recurrence(GraphBuilder& graph, const Recurrence& layer);

/// Features first to first + count - 1 of x[directions, ..., features * hidden].
Tensor gate_columns(Tensor x, const SizeExpr& hidden, std::int64_t first, std::int64_t count = 1);
/// state[directions, batch, hidden] times the transposes of weights[directions, features, hidden].
Tensor times_transposed(Tensor state, Tensor weights);
/// The function of each direction, applied to its part of x[directions, ...].
Tensor apply_functions(Tensor x, const std::vector<GateFunction>& functions);

}  // namespace millrace
