// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/import/onnx/node_context.h"

namespace millrace {

/// Imports one node: builds its results, or says why that is not possible.
using OnnxOpFunction = Result<OnnxResults> (*)(OnnxNodeContext&);

struct OnnxOp {
  std::string_view name;
  /// The first version of the domain whose nodes the function imports.
  std::int64_t since_version = 1;
  OnnxOpFunction import = nullptr;
};

/// The op of the default domain; null if it is not known.
const OnnxOp* find_onnx_op(std::string_view name);

}  // namespace millrace
