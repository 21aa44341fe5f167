// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "graph/import/onnx/messages.h"
#include "millrace/base/shared_bytes.h"
#include "millrace/base/status.h"

namespace millrace {

/// Whether this build reads ONNX files, which it does if protozero was found when it was configured.
bool can_decode_onnx();

/// Reads the messages of a file. Raw elements and texts stay in `file`. Refuses fields that onnx 1.23 does not have.
/// `where` begins each message. O(bytes) time. Refuses files whose messages take more than 32 times their bytes, which
/// those of models do not: thousands of empty messages.
Result<std::shared_ptr<const ModelProto>> decode_model(const std::string& where, SharedBytes file);
/// Reads a file that holds one tensor, as the test data of ONNX do. The tensor's views point into `file`.
Result<TensorProto> decode_tensor(const std::string& where, const SharedBytes& file);

}  // namespace millrace
