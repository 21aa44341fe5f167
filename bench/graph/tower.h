// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/millrace.h"

namespace millrace::bench {

/// A tower of blocks of ten nodes: a matrix product, a bias, a gelu and a residual, in f32[rows, 64].
inline Graph tower(std::int64_t num_nodes) {
  GraphBuilder graph("tower");
  Tensor x = graph.input("x", DType::kF32, {Dim("rows").at_least(1).at_most(4096), 64});
  const Tensor weights = graph.input("weights", DType::kF32, {64, 64});
  const Tensor bias = graph.input("bias", DType::kF32, {64});
  while (graph.graph().nodes.size() < static_cast<std::size_t>(num_nodes)) {
    x = x + gelu(matmul(x, weights) + broadcast_to(bias, x.shape()));
  }
  graph.output("y", x);
  return graph.finish().value();
}

}  // namespace millrace::bench
