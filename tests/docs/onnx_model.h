// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/graph/import/onnx/model_writer.h"

namespace millrace::test {

/// The file model.onnx of docs/onnx.md: y is the softmax of x, f32[batch, 10].
inline std::string softmax_model() {
  return onnx_model({.nodes = {{"Softmax", {"x"}, {"y"}}},
                     .inputs = {onnx_value("x", kOnnxFloat, {"batch", 10})},
                     .outputs = {onnx_value("y", kOnnxFloat, {"batch", 10})}})
      .bytes();
}

}  // namespace millrace::test
