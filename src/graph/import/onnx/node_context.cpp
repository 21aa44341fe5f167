// SPDX-License-Identifier: Apache-2.0
// Reads the operands of a node for the function that imports its op, in the form that the function needs.
#include "graph/import/onnx/node_context.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/import/onnx/element_types.h"
#include "graph/import/onnx/names.h"
#include "millrace/base/printable.h"

namespace millrace {

OnnxNodeContext::OnnxNodeContext(OnnxImport& import, const OnnxScope& scope, const NodeProto& node, std::size_t index,
                                 std::int64_t version, std::vector<const OnnxValue*> operands)
    : import_(import),
      scope_(scope),
      node_(node),
      index_(index),
      version_(version),
      operands_(std::move(operands)),
      are_operands_read_(operands_.size()),
      are_attributes_read_(node.attribute.size()) {}

const OnnxValue& OnnxNodeContext::value(std::size_t operand) {
  static const OnnxValue kOmitted;
  if (operand >= operands_.size()) return kOmitted;
  are_operands_read_[operand] = true;
  return *operands_[operand];
}

bool OnnxNodeContext::has(std::size_t operand) { return !value(operand).is_omitted(); }

Status OnnxNodeContext::operand_error(std::size_t operand, const std::string& reason) const {
  const std::string name = operand < node_.input.size() ? printable(node_.input[operand]) : "";
  return invalid_argument(fmt::format(".input[{}] ('{}'): {}", operand, name, reason));
}

Result<Tensor> OnnxNodeContext::materialize(const OnnxValue& value) {
  if (value.type()) return built(value.materialize(import_.graph));
  if (value.foreign() != nullptr) {
    return unimplemented(
        fmt::format(": elements of {} are not supported here", onnx_type_name(value.foreign()->tensor->data_type)));
  }
  return unimplemented(value.sequence() != nullptr ? ": a sequence is not supported here" : ": no value is given");
}

Result<Tensor> OnnxNodeContext::tensor(std::size_t operand) {
  const OnnxValue& found = value(operand);
  if (found.is_omitted()) return operand_error(operand, "is missing, expected a tensor");
  Result<Tensor> made = materialize(found);
  if (made.ok() && found.tensor() == nullptr) name_result(node_, node_.input[operand], *made);
  if (made.ok() || found.type()) return made;
  return operand_error(operand, made.status().message().substr(2));
}

Result<Tensor> OnnxNodeContext::optional_tensor(std::size_t operand) {
  if (!has(operand)) return Tensor();
  return tensor(operand);
}

Result<std::vector<Tensor>> OnnxNodeContext::tensors(std::size_t first) {
  std::vector<Tensor> all;
  for (std::size_t i = first; i < operands_.size(); ++i) {
    MILLRACE_TRY_ASSIGN(all.emplace_back(), tensor(i));
  }
  return all;
}

Result<TensorType> OnnxNodeContext::type(std::size_t operand) {
  if (const std::optional<TensorType> known = value(operand).type()) return *known;
  MILLRACE_TRY_ASSIGN(const Tensor found, tensor(operand));
  return found.type();
}

Result<OnnxSequence> OnnxNodeContext::sequence(std::size_t operand) {
  if (const OnnxSequence* found = value(operand).sequence()) return *found;
  return operand_error(operand, "is a tensor, expected a sequence");
}

Result<Tensor> OnnxNodeContext::built(Tensor tensor) {
  if (tensor.is_valid()) return tensor;
  Status mistake = import_.graph.take_mistake();
  if (mistake.ok()) return internal_error(": an op has no result");
  return Status(mistake.code(), ": " + mistake.message());
}

Result<std::vector<OnnxValue>> OnnxNodeContext::import_body(std::string_view attribute, const GraphProto& body,
                                                            std::vector<OnnxValue> inputs) {
  return millrace::import_body(import_, scope_of(attribute), body, path(),
                               fmt::format(".attribute '{}'", printable(attribute)), std::move(inputs));
}

void OnnxNodeContext::note(std::string_view text) { import_.notes.push_back(fmt::format("{} {}", path(), text)); }

Status OnnxNodeContext::check_all_read() const {
  for (std::size_t i = 0; i < are_attributes_read_.size(); ++i) {
    if (!are_attributes_read_[i]) {
      return attribute_error(node_.attribute[i].name,
                             fmt::format("is not an attribute of {} in version {}", printable(op()), version_));
    }
  }
  for (std::size_t i = 0; i < are_operands_read_.size(); ++i) {
    if (!are_operands_read_[i] && !operands_[i]->is_omitted()) {
      return operand_error(i, fmt::format("is not an operand of {} in version {}", printable(op()), version_));
    }
  }
  return {};
}

std::optional<std::int64_t> find_axis(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) return {};
  return axis < 0 ? axis + count : axis;
}

}  // namespace millrace
