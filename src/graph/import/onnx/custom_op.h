// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/import/onnx/node_context.h"

namespace millrace {

/// Imports a node by calling the caller's function.
Result<OnnxResults> import_custom_op(OnnxNodeContext&, const OnnxCustomOp&);

}  // namespace millrace
