// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "graph/import/onnx/messages.h"
#include "millrace/graph/onnx.h"

namespace millrace {

/// Imports a decoded model. `where` begins each message; `path` is empty for a model in memory.
Result<OnnxModel> import_model(const std::string& where, const std::string& path, const ModelProto& model,
                               const OnnxOptions& options);

}  // namespace millrace
