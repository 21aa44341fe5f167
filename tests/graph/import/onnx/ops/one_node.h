// SPDX-License-Identifier: Apache-2.0
// Models of one node, for tests of what it computes and of what it refuses.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "tests/graph/import/onnx/model_writer.h"
#include "tests/graph/import/onnx/suite/suite.h"
#include "tests/reference/tensor.h"

namespace millrace::test {

struct OneNode {
  TestNode node;
  std::vector<MessageWriter> inputs = {}, constants = {};
  std::int64_t version = 18;
};

/// Why the importer refuses the node: the line of the message, without the node's path and the version.
std::string refusal(const OneNode&);
/// The types of the outputs: "f32[n, 8]".
std::string types_of(const OneNode&);
/// Imports, compiles and runs the model.
std::vector<reference::Tensor> run_node(const OneNode&, const std::vector<reference::Tensor>& inputs);

template <class T>
reference::Tensor tensor_of(const reference::Extents& extents, const std::vector<T>& elements) {
  reference::Tensor tensor(dtype_of<T>, extents);
  MILLRACE_CHECK(tensor.bytes.size() == elements.size() * sizeof(T));
  std::ranges::copy(std::as_bytes(std::span(elements)), tensor.bytes.begin());
  return tensor;
}

}  // namespace millrace::test
