// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "graph/import/onnx/messages.h"
#include "millrace/base/shared_bytes.h"
#include "millrace/base/status.h"

namespace millrace {

/// Whether this build can read ONNX files. It can if CMake found protozero.
bool can_decode_onnx();

/// Reads the messages of a file. Raw elements and strings are views into `file`. Refuses fields that onnx 1.23 does not
/// define, and files whose decoded messages would take more than 32 times their size: thousands of empty messages,
/// which no real model contains. `where` begins each error message. O(bytes) time.
Result<std::shared_ptr<const ModelProto>> decode_model(const std::string& where, SharedBytes file);
/// Reads a file that holds one tensor, as the test data of ONNX do. The tensor's views point into `file`.
Result<TensorProto> decode_tensor(const std::string& where, const SharedBytes& file);

}  // namespace millrace
