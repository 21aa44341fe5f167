// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/import/onnx/dims.h"
#include "graph/import/onnx/external_data.h"
#include "graph/import/onnx/fold_tensor.h"
#include "graph/import/onnx/messages.h"
#include "graph/import/onnx/names.h"
#include "graph/import/onnx/problems.h"
#include "graph/import/onnx/value.h"
#include "millrace/graph/builder.h"
#include "millrace/graph/onnx.h"

namespace millrace {

/// Versions by domain; the default domain is "".
using OnnxOpsets = std::map<std::string_view, std::int64_t>;
/// The domain without its alias: "ai.onnx" is "".
std::string_view plain_domain(std::string_view domain);

struct OnnxScope;

/// An attribute that a call passes to a function. If it is a graph, the graph's nodes read the values of `scope`, the
/// call's. A null scope marks a default of the function.
struct OnnxCallAttribute {
  const AttributeProto* attribute = nullptr;
  const OnnxScope* scope = nullptr;
};
/// The attributes of a call, resolved by name. Nodes of the function refer to them.
using OnnxCallAttributes = std::map<std::string_view, OnnxCallAttribute>;

/// The values that the nodes of one graph, or of one call of a function, can read.
struct OnnxScope {
  const OnnxScope* outer = nullptr;  // for a body: the scope of its node
  std::string path;                  // "graph", "graph.node[3] (If 'if').attribute 'then_branch'"
  const OnnxOpsets* opsets = nullptr;
  const OnnxCallAttributes* call = nullptr;  // null outside functions
  std::map<std::string_view, OnnxValue> values = {};

  /// The innermost value of this name; null if there is none.
  const OnnxValue* find(std::string_view name) const;
};

/// "graph.node[17] (Resize 'r')".
std::string node_path(const OnnxScope&, const NodeProto&, std::size_t index);

/// The state that the functions that import one model share.
struct OnnxImport {
  OnnxImport(const ModelProto& model, const OnnxOptions& options, std::string model_path)
      : model(model),
        options(options),
        external(std::move(model_path), options.data_folders),
        read_names(millrace::read_names(model)) {}
  OnnxImport(const OnnxImport&) = delete;
  OnnxImport& operator=(const OnnxImport&) = delete;

  /// Calls read_tensor() once per tensor of the file: functions and bodies are imported many times, and their constants
  /// would be copied each time.
  Result<OnnxValue> read(const TensorProto& tensor, const std::string& path);

  const ModelProto& model;
  const OnnxOptions& options;
  GraphBuilder graph;
  ExternalData external;
  OnnxDims dims;
  OnnxProblems problems;
  std::vector<std::string> notes;
  const std::set<std::string_view> read_names;  // values that no node reads need not be known
  /// Functions of the model by domain, name and overload.
  std::map<std::array<std::string_view, 3>, const FunctionProto*> functions;
  std::map<const TensorProto*, OnnxValue> tensors;  // those that were read
  std::vector<const FunctionProto*> open_calls;     // from the outside in
  std::size_t num_bodies = 0;                       // open now, nested in each other; includes open calls
  std::size_t num_nodes = 0;                        // imported so far; a function's nodes count once per call
  // Limits on what a file may ask for: a few bytes can call functions many times, or describe many elements.
  std::size_t max_nodes = 100'000 + model.file.size() / 8;
  OnnxFolding folding{(std::uint64_t{1} << 23) + model.file.size()};
  /// Integer inputs whose elements decide shapes: found while importing, and used by the next attempt.
  std::set<std::string, std::less<>> sized_inputs;
  /// The maximum number of nodes of the built graph. Those of functions and bodies count once per use.
  std::size_t max_graph_nodes = 250'000 + model.file.size() / 2;
};

/// Counts one body or call as open, from its constructor to its destructor.
class OnnxOpenBody {
 public:
  explicit OnnxOpenBody(OnnxImport& import) : import_(import) { ++import_.num_bodies; }
  OnnxOpenBody(const OnnxOpenBody&) = delete;
  OnnxOpenBody& operator=(const OnnxOpenBody&) = delete;
  ~OnnxOpenBody() { --import_.num_bodies; }

  /// Fails if the importer would recurse too deeply.
  Status check() const;

 private:
  OnnxImport& import_;
};

/// Imports the nodes in order. Adds their values to the scope, and errors to the problems. Fails only if memory runs
/// out or the model has too many nodes.
Status import_nodes(OnnxImport&, OnnxScope&, std::span<const NodeProto>);

/// Adds the constants of a graph to the scope.
Status add_initializers(OnnxImport&, OnnxScope&, const GraphProto&);

/// Imports a body inside the scope of its node, and returns its outputs. `path` is the node's path; `place` says where
/// in the node the body is: ".attribute 'then_branch'". Fails unless the body has `inputs.size()` inputs. If an output
/// failed, its problem is already noted, and the error has no message.
Result<std::vector<OnnxValue>> import_body(OnnxImport&, const OnnxScope& outer, const GraphProto& body,
                                           const std::string& path, const std::string& place,
                                           std::vector<OnnxValue> inputs);

/// Imports the body of a function of the model in place of its node. `attributes` are those of the node.
Result<std::vector<OnnxValue>> import_call(OnnxImport&, const FunctionProto&, OnnxCallAttributes attributes,
                                           std::string path, std::vector<OnnxValue> operands);

}  // namespace millrace
