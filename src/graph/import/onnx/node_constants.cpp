// SPDX-License-Identifier: Apache-2.0
// Reads the operands of a node that are known while a model is imported, for the function that imports its op.
#include <fmt/format.h>

#include "graph/import/onnx/element_types.h"
#include "graph/import/onnx/fold_tensor.h"
#include "graph/import/onnx/foreign.h"
#include "graph/import/onnx/node_context.h"
#include "millrace/base/printable.h"

namespace millrace {

void OnnxNodeContext::mark_sized_input(std::size_t operand) {
  const Tensor* tensor = value(operand).tensor();
  if (tensor == nullptr) return;
  const Graph& graph = import_.graph.graph();
  NodeId id = tensor->value().node;
  while (const auto* op = std::get_if<OpNode>(&graph.nodes[id].what)) {
    if ((op->op != Op::cast && op->op != Op::reshape) || import_.graph.is_in_body(id)) return;
    id = graph.nodes[id].operands[0].node;
  }
  const auto* input = std::get_if<InputNode>(&graph.nodes[id].what);
  if (input == nullptr) return;
  const TensorType& type = graph.nodes[id].results[0];
  const bool can_be_dims = (type.dtype == DType::kI32 || type.dtype == DType::kI64) && type.shape.is_static() &&
                           type.shape.rank() <= 1 && type.shape.num_elements().constant() <= std::int64_t{kMaxRank};
  if (can_be_dims) import_.sized_inputs.insert(input->name);
}

Status OnnxNodeContext::not_known(std::size_t operand) {
  mark_sized_input(operand);
  const OnnxValue& found = value(operand);
  if (found.is_omitted()) return operand_error(operand, "is missing");
  if (found.unknown() != nullptr) {
    return operand_error(
        operand, fmt::format("depends on {}, which is not known; give the dims bounds or values", *found.unknown()));
  }
  return operand_error(operand,
                       "is computed at run time, expected elements that are known when the model is imported; if an "
                       "input decides them, give its value");
}

Result<OnnxSizes> OnnxNodeContext::sizes(std::size_t operand) {
  MILLRACE_TRY_ASSIGN(OnnxSizes known, fractions(operand));
  if (!known.are_floats()) return known;
  return operand_error(operand, fmt::format("is {}, expected integers", known.type().to_text()));
}

Result<OnnxSizes> OnnxNodeContext::fractions(std::size_t operand) {
  if (std::optional<OnnxSizes> known = value(operand).as_fractions()) return *std::move(known);
  if (const Tensor* tensor = value(operand).tensor()) {
    MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> folded, fold_tensor(*tensor, import_.folding));
    std::optional<OnnxSizes> known = folded ? OnnxValue(*folded).as_fractions() : std::nullopt;
    if (known) return *std::move(known);
  }
  if (value(operand).constant() != nullptr) {
    return operand_error(operand,
                         fmt::format("is {}, expected at most {} integers, or fractions with a denominator of at "
                                     "most {}",
                                     value(operand).type()->to_text(), kMaxSizes, kMaxSizeDivisor));
  }
  return not_known(operand);
}

Result<SizeExpr> OnnxNodeContext::size(std::size_t operand) {
  MILLRACE_TRY_ASSIGN(const OnnxSizes known, sizes(operand));
  if (known.values.size() == 1 && known.divisor == 1) return known.values[0];
  return operand_error(operand, fmt::format("has {} elements, expected one integer", known.values.size()));
}

Result<std::optional<OnnxConstant>> OnnxNodeContext::known(const OnnxValue& value) {
  if (value.tensor() != nullptr) return fold_tensor(*value.tensor(), import_.folding);
  return value.as_constant();
}

Result<OnnxConstant> OnnxNodeContext::constant(std::size_t operand) {
  MILLRACE_TRY_ASSIGN(std::optional<OnnxConstant> elements, known(operand));
  if (elements) return *std::move(elements);
  if (const OnnxForeign* foreign = value(operand).foreign()) {
    return operand_error(
        operand, fmt::format("elements of {} are not supported here", onnx_type_name(foreign->tensor->data_type)));
  }
  return not_known(operand);
}

Result<std::vector<std::int64_t>> OnnxNodeContext::integers(std::size_t operand) {
  MILLRACE_TRY_ASSIGN(const OnnxConstant known, constant(operand));
  if (std::optional<std::vector<std::int64_t>> integers = integers_of(known)) return *std::move(integers);
  return operand_error(operand, fmt::format("is {}, expected integers", known.type.to_text()));
}

Result<std::int64_t> OnnxNodeContext::integer(std::size_t operand) {
  MILLRACE_TRY_ASSIGN(const std::vector<std::int64_t> known, integers(operand));
  if (known.size() == 1) return known[0];
  return operand_error(operand, fmt::format("has {} elements, expected one", known.size()));
}

Result<double> OnnxNodeContext::number(std::size_t operand) {
  MILLRACE_TRY_ASSIGN(const OnnxConstant known, constant(operand));
  if (known.type.shape.num_elements().is(1)) return numbers_of(known)[0];
  return operand_error(operand, fmt::format("is {}, expected one number", known.type.to_text()));
}

Status OnnxNodeContext::reserve_elements(std::uint64_t count) {
  std::uint64_t& room = import_.folding.element_room;
  if (count > room) {
    return unimplemented(fmt::format(
        ": computes {} elements while the model is imported, expected at most {} in a file of this size", count, room));
  }
  room -= count;
  return {};
}

bool OnnxNodeContext::are_all_sizes() {
  bool is_small = true;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const OnnxValue& found = value(i);
    is_small = is_small && (found.is_omitted() || found.as_sizes().has_value());
  }
  return is_small && !operands_.empty();
}

std::int64_t OnnxNodeContext::element_type(std::size_t operand) {
  const OnnxValue& found = value(operand);
  if (found.foreign() != nullptr) return found.foreign()->tensor->data_type;
  const std::optional<TensorType> type = found.type();
  return type ? onnx_type_of(type->dtype) : 0;
}

Result<OnnxConstant> OnnxNodeContext::unpacked(std::size_t operand) {
  const OnnxForeign* foreign = value(operand).foreign();
  if (foreign == nullptr) return constant(operand);
  const std::string path = fmt::format(".input[{}] ('{}')", operand, printable(node_.input[operand]));
  return unpack(*foreign, path, import_.model.file, import_.external);
}

Result<SharedBytes> OnnxNodeContext::packed(std::size_t operand) {
  const OnnxForeign* foreign = value(operand).foreign();
  if (foreign == nullptr) return operand_error(operand, "is not a constant of packed elements");
  const std::string path = fmt::format(".input[{}] ('{}')", operand, printable(node_.input[operand]));
  return packed_bytes(*foreign, path, import_.model.file, import_.external);
}

}  // namespace millrace
