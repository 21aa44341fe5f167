// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <set>
#include <string_view>

#include "graph/import/onnx/value.h"
#include "millrace/graph/builder.h"

namespace millrace {

struct ModelProto;
struct NodeProto;

/// Opens the scopes that a node's name lists, and closes them in its destructor: "/encoder/layers.0/MatMul" is in
/// encoder and layers.0.
class OnnxNodeNames {
 public:
  OnnxNodeNames(GraphBuilder& graph, const NodeProto& node);
  OnnxNodeNames(const OnnxNodeNames&) = delete;
  OnnxNodeNames& operator=(const OnnxNodeNames&) = delete;
  /// Closes the scopes from the inside out.
  ~OnnxNodeNames();

 private:
  struct Opened {
    Opened(GraphBuilder& graph, std::string_view name) : scope(graph.scope(name)) {}
    GraphBuilder::OpenScope scope;
  };
  std::deque<Opened> scopes_;
};

/// Names the tensor after the result, without the prefix that repeats the node's scopes.
void name_result(const NodeProto& node, std::string_view name, const OnnxValue& value);

/// The names of all values that a node of the model reads, in any body or function, and of all outputs.
std::set<std::string_view> read_names(const ModelProto&);

}  // namespace millrace
