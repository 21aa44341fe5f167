// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/import/onnx/messages.h"
#include "graph/import/onnx/node_context.h"
#include "graph/import/onnx/ops/control/iterate.h"

namespace millrace {

/// A graph that is run again and again: the body of a Loop or a Scan. Its outputs are the next values of the state, in
/// order, and then the outputs that are joined over all steps.
struct BodyLoop {
  std::string_view attribute;
  const GraphProto* body = nullptr;
  std::vector<OnnxValue> initial = {};  // the state
  std::size_t first_state = 0;          // the body's input that is state 0
  /// The body's inputs for a step.
  std::function<Result<std::vector<OnnxValue>>(const StepIndex&, std::vector<OnnxValue> state)> inputs = {};
  /// The number of steps, unless the condition ends them earlier.
  std::optional<SizeExpr> count = {};
  Tensor max_count = {};  // an i64 scalar, if the count is known only at run time
  /// Whether state 0 is the condition: a bool that ends the loop when it is false.
  bool has_condition = false;
  /// Whether any of the joined outputs is wanted.
  bool wants_outputs = false;

  std::size_t num_outputs() const { return body->output.size() - initial.size(); }
};

struct BodyLoopResults {
  std::vector<OnnxValue> state;
  std::vector<OnnxValue> outputs;  // with a new first axis; empty unless wanted
};

/// Builds the steps one by one if there are few or a state is a sequence, otherwise as a loop in the graph.
Result<BodyLoopResults> import_body_loop(OnnxNodeContext& node, BodyLoop loop);

}  // namespace millrace
