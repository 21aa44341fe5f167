// SPDX-License-Identifier: Apache-2.0
// Imports graphs inside graphs: the bodies of If, Loop and Scan, and functions of the model in place of their calls.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/import/onnx/import_state.h"
#include "graph/import/onnx/read_tensor.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

Status add_constant(OnnxImport& import, OnnxScope& scope, std::string_view name, const std::string& path,
                    Result<OnnxValue> value) {
  if (!value.ok()) {
    if (is_plain_out_of_memory(value)) return value.status();
    // The message already begins with the path.
    import.problems.push_back({"", value.status().message()});
    scope.values.emplace(name, OnnxValue::failed());
    return {};
  }
  if (!scope.values.emplace(name, *std::move(value)).second) {
    import.problems.push_back({path, ": the name is taken"});
  }
  return {};
}

/// The values of these names: the outputs of a graph or function that the node contains or calls at `place`.
Result<std::vector<OnnxValue>> find_outputs(const OnnxScope& scope, const std::string& place,
                                            std::span<const std::string_view> names) {
  std::vector<OnnxValue> outputs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const OnnxValue* value = scope.find(names[i]);
    if (value == nullptr) {
      return invalid_argument(
          fmt::format("{}.output[{}]: '{}' is not the result of any node", place, i, printable(names[i])));
    }
    if (value->is_failed()) return invalid_argument("");
    outputs.push_back(*value);
  }
  return outputs;
}

}  // namespace

Status OnnxOpenBody::check() const {
  constexpr std::size_t kMaxBodies = 64;
  if (import_.num_bodies <= kMaxBodies) return {};
  return unimplemented(fmt::format(": bodies and functions are nested {} levels deep, expected at most {}",
                                   import_.num_bodies, kMaxBodies));
}

Result<OnnxValue> OnnxImport::read(const TensorProto& tensor, const std::string& path) {
  const auto known = tensors.find(&tensor);
  if (known != tensors.end()) return known->second;
  MILLRACE_TRY_ASSIGN(OnnxValue value, read_tensor(tensor, path, model.file, external));
  return tensors.emplace(&tensor, std::move(value)).first->second;
}

Status add_initializers(OnnxImport& import, OnnxScope& scope, const GraphProto& graph) {
  for (std::size_t i = 0; i < graph.initializer.size(); ++i) {
    const TensorProto& tensor = graph.initializer[i];
    const std::string path = fmt::format("{}.initializer[{}] '{}'", scope.path, i, printable(tensor.name));
    MILLRACE_TRY(add_constant(import, scope, tensor.name, path, import.read(tensor, path)));
  }
  for (std::size_t i = 0; i < graph.sparse_initializer.size(); ++i) {
    const SparseTensorProto& tensor = graph.sparse_initializer[i];
    const std::string_view name = tensor.values ? tensor.values->name : std::string_view();
    const std::string path = fmt::format("{}.sparse_initializer[{}] '{}'", scope.path, i, printable(name));
    MILLRACE_TRY(add_constant(
        import, scope, name, path,
        read_sparse_tensor(tensor, path, import.model.file, import.external, import.folding.element_room)));
  }
  return {};
}

Result<std::vector<OnnxValue>> import_body(OnnxImport& import, const OnnxScope& outer, const GraphProto& body,
                                           const std::string& path, const std::string& place,
                                           std::vector<OnnxValue> inputs) {
  const OnnxOpenBody open(import);
  MILLRACE_TRY(open.check());
  OnnxScope scope{&outer, path + place, outer.opsets, outer.call};
  if (body.input.size() != inputs.size()) {
    return invalid_argument(fmt::format("{}: has {} inputs, expected {}", place, body.input.size(), inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    scope.values.insert_or_assign(body.input[i].name, std::move(inputs[i]));
  }
  MILLRACE_TRY(add_initializers(import, scope, body));
  MILLRACE_TRY(import_nodes(import, scope, body.node));
  std::vector<std::string_view> names;
  for (const ValueInfoProto& output : body.output) names.push_back(output.name);
  return find_outputs(scope, place, names);
}

Result<std::vector<OnnxValue>> import_call(OnnxImport& import, const FunctionProto& function,
                                           OnnxCallAttributes attributes, std::string path,
                                           std::vector<OnnxValue> operands) {
  if (std::ranges::find(import.open_calls, &function) != import.open_calls.end()) {
    return invalid_argument(fmt::format(": the function '{}' calls itself", printable(function.name)));
  }
  const OnnxOpenBody open(import);
  MILLRACE_TRY(open.check());
  if (operands.size() > function.input.size()) {
    return invalid_argument(fmt::format(": found {} operands, but the function '{}' has {}", operands.size(),
                                        printable(function.name), function.input.size()));
  }
  std::set<std::string_view> known(function.attribute.begin(), function.attribute.end());
  for (const AttributeProto& otherwise : function.attribute_proto) known.insert(otherwise.name);
  for (const auto& [name, attribute] : attributes) {
    if (known.contains(name)) continue;
    return invalid_argument(fmt::format(".attribute '{}': the function '{}' has no such attribute", printable(name),
                                        printable(function.name)));
  }
  for (const AttributeProto& otherwise : function.attribute_proto) {
    attributes.emplace(otherwise.name, OnnxCallAttribute{&otherwise});
  }
  OnnxOpsets opsets;
  for (const OperatorSetIdProto& set : function.opset_import) opsets.emplace(plain_domain(set.domain), set.version);
  const std::string place = fmt::format(".function '{}'", printable(function.name));
  OnnxScope scope{nullptr, path + place, &opsets, &attributes};
  operands.resize(function.input.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    scope.values.insert_or_assign(function.input[i], std::move(operands[i]));
  }
  import.open_calls.push_back(&function);
  const Status imported = import_nodes(import, scope, function.node);
  import.open_calls.pop_back();
  MILLRACE_TRY(imported);
  return find_outputs(scope, place, function.output);
}

}  // namespace millrace
