// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "millrace/graph/builder.h"

namespace millrace {

/// The maximum number of steps that are built one after the other. More steps become a loop: each then costs a third of
/// a microsecond more, but the graph and its compilation do not grow with their number.
inline constexpr std::int64_t kMaxUnrolledSteps = 8;

/// Which step is built: a number, or in a loop an i64 scalar.
struct StepIndex {
  std::int64_t number = 0;
  Tensor tensor = {};  // empty outside loops
};

/// The slice of x at the step's index along `axis`, without that axis.
Tensor element_at(Tensor x, std::int64_t axis, const StepIndex& index);

struct StepValues {
  std::vector<Tensor> state, outputs;
};
using StepFunction = std::function<StepValues(const StepIndex&, std::span<const Tensor>)>;

/// Applies `step` `count` times, starting from `initial`. Returns the last state and, for each output of the step, one
/// tensor with the outputs of all steps along a new first axis. `types` are those of the step's outputs.
StepValues iterate(GraphBuilder& graph, const SizeExpr& count, const std::vector<Tensor>& initial,
                   std::span<const TensorType> types, const StepFunction& step);

/// Zeros in the shape of `count` tensors of that type, joined along a new first axis.
Tensor zero_outputs(GraphBuilder& graph, const SizeExpr& count, const TensorType& type);
/// `all` with `output` stored at the step's index along the first axis.
Tensor with_output(Tensor all, Tensor output, const StepIndex& index);

}  // namespace millrace
