// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "graph/import/onnx/node_context.h"

namespace millrace {

/// An activation of a recurrent layer, with its parameters.
struct GateFunction {
  Tensor (*apply)(Tensor x, double alpha, double beta) = nullptr;
  double alpha = 0, beta = 0;
  friend bool operator==(const GateFunction&, const GateFunction&) = default;
};

/// The functions of each direction, from the attributes activations, activation_alpha and activation_beta. `defaults`
/// names those of one direction. The attributes list parameters, in order, only for functions that have them.
Result<std::vector<std::vector<GateFunction>>> read_gate_functions(OnnxNodeContext& node, std::size_t num_directions,
                                                                   const std::vector<std::string_view>& defaults);

}  // namespace millrace
