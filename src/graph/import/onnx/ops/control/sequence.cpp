// SPDX-License-Identifier: Apache-2.0
// Imports ops of sequences and optionals. A sequence is a list of values while the model is imported; positions in it
// must be known.
#include <fmt/format.h>

#include "graph/import/onnx/messages.h"
#include "graph/import/onnx/node_context.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/sequence.inc"
#undef MILLRACE_ONNX_OP

namespace {

constexpr std::size_t kMaxSequence = 4096;

OnnxValue sequence_of(std::vector<OnnxValue> elements) {
  return OnnxSequence{std::make_shared<const std::vector<OnnxValue>>(std::move(elements))};
}

/// The place that an operand names in a list of `count` elements; a negative one counts from the end.
Result<std::size_t> read_place(OnnxNodeContext& node, std::size_t operand, std::size_t count) {
  MILLRACE_TRY_ASSIGN(const std::int64_t given, node.integer(operand));
  if (const std::optional<std::int64_t> place = find_axis(given, count)) return static_cast<std::size_t>(*place);
  return node.operand_error(operand, fmt::format("found {}, but there are {} elements", given, count));
}

}  // namespace

Result<OnnxResults> import_sequence_empty(OnnxNodeContext& node) {
  node.ignore_attribute("dtype");
  return sequence_of({});
}

Result<OnnxResults> import_sequence_construct(OnnxNodeContext& node) {
  std::vector<OnnxValue> elements;
  for (std::size_t i = 0; i < node.num_operands(); ++i) {
    if (!node.has(i)) return node.operand_error(i, "is missing, expected a tensor");
    elements.push_back(node.value(i));
  }
  return sequence_of(std::move(elements));
}

Result<OnnxResults> import_sequence_at(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const OnnxSequence sequence, node.sequence(0));
  MILLRACE_TRY_ASSIGN(const std::size_t place, read_place(node, 1, sequence.elements->size()));
  return (*sequence.elements)[place];
}

Result<OnnxResults> import_sequence_length(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const OnnxSequence sequence, node.sequence(0));
  return OnnxSizes::scalar(static_cast<std::int64_t>(sequence.elements->size()));
}

/// Without a position, inserts at the end.
Result<OnnxResults> import_sequence_insert(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const OnnxSequence sequence, node.sequence(0));
  if (!node.has(1)) return node.operand_error(1, "is missing, expected a tensor");
  std::vector<OnnxValue> elements = *sequence.elements;
  if (elements.size() == kMaxSequence) {
    return unimplemented(fmt::format(": a sequence has more than {} elements", kMaxSequence));
  }
  std::size_t place = elements.size();
  if (node.has(2)) {
    MILLRACE_TRY_ASSIGN(const std::int64_t given, node.integer(2));
    // The end is a place too, but negative positions count from the last element.
    const auto count = static_cast<std::int64_t>(elements.size());
    if (given < -count || given > count) {
      return node.operand_error(2, fmt::format("found {}, expected {} to {}", given, -count, count));
    }
    place = static_cast<std::size_t>(given < 0 ? given + count : given);
  }
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(place), node.value(1));
  return sequence_of(std::move(elements));
}

/// Without a position, erases the last element.
Result<OnnxResults> import_sequence_erase(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const OnnxSequence sequence, node.sequence(0));
  std::vector<OnnxValue> elements = *sequence.elements;
  if (elements.empty()) return node.operand_error(0, "is empty, expected an element to erase");
  std::size_t place = elements.size() - 1;
  if (node.has(1)) {
    MILLRACE_TRY_ASSIGN(place, read_place(node, 1, elements.size()));
  }
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(place));
  return sequence_of(std::move(elements));
}

/// Imports the body once per element. Sequences have equal lengths; tensors are the same for every element.
Result<OnnxResults> import_sequence_map(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const GraphProto* body, node.graph_attribute("body"));
  MILLRACE_TRY_ASSIGN(const OnnxSequence first, node.sequence(0));
  std::vector<std::vector<OnnxValue>> results(body->output.size());
  for (std::size_t i = 0; i < first.elements->size(); ++i) {
    std::vector<OnnxValue> inputs;
    for (std::size_t k = 0; k < node.num_operands(); ++k) {
      const OnnxSequence* sequence = node.value(k).sequence();
      if (sequence != nullptr && sequence->elements->size() != first.elements->size()) {
        return node.operand_error(k, fmt::format("has {} elements, expected {} like operand 0",
                                                 sequence->elements->size(), first.elements->size()));
      }
      inputs.push_back(sequence != nullptr ? (*sequence->elements)[i] : node.value(k));
    }
    MILLRACE_TRY_ASSIGN(const std::vector<OnnxValue> values, node.import_body("body", *body, std::move(inputs)));
    for (std::size_t k = 0; k < values.size(); ++k) results[k].push_back(values[k]);
  }
  for (std::size_t k = 0; k < node.num_operands(); ++k) node.ignore_operand(k);
  std::vector<OnnxValue> all;
  for (std::vector<OnnxValue>& elements : results) all.push_back(sequence_of(std::move(elements)));
  return all;
}

namespace {

/// The extents of the parts of an axis: one size for all, a list of sizes, or 1 each.
Result<std::vector<SizeExpr>> read_parts(OnnxNodeContext& node, const SizeExpr& extent) {
  std::int64_t size = 1;
  if (node.has(1)) {
    MILLRACE_TRY_ASSIGN(const OnnxSizes sizes, node.sizes(1));
    if (sizes.rank() == 1 && sizes.divisor == 1) return sizes.values;
    MILLRACE_TRY_ASSIGN(size, node.integer(1));
  }
  if (size < 1) return node.operand_error(1, fmt::format("found {}, expected 1 or more", size));
  if (!extent.is_constant()) {
    return unimplemented(
        fmt::format(": the number of parts is not known: the axis has {} elements, divided into parts "
                    "of {}; give the dim a value",
                    extent.to_text(), size));
  }
  if (extent.constant() / size >= static_cast<std::int64_t>(kMaxSequence)) {
    return unimplemented(fmt::format(": a sequence has more than {} elements", kMaxSequence));
  }
  std::vector<SizeExpr> parts;
  for (std::int64_t begin = 0; begin < extent.constant(); begin += size) {
    parts.emplace_back(std::min(size, extent.constant() - begin));
  }
  return parts;
}

}  // namespace

Result<OnnxResults> import_split_to_sequence(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", x.shape().rank(), 0));
  MILLRACE_TRY_ASSIGN(const bool keeps_dims, node.flag_attribute("keepdims", true));
  MILLRACE_TRY_ASSIGN(const std::vector<SizeExpr> sizes, read_parts(node, x.shape()[static_cast<std::size_t>(axis)]));
  std::vector<OnnxValue> parts;
  for (const Tensor& part : split(x, sizes, axis)) {
    MILLRACE_TRY_ASSIGN(const Tensor made, node.built(keeps_dims || node.has(1) ? part : squeeze(part, {axis})));
    parts.emplace_back(made);
  }
  return sequence_of(std::move(parts));
}

Result<OnnxResults> import_concat_from_sequence(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const OnnxSequence sequence, node.sequence(0));
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.integer_attribute("axis"));
  MILLRACE_TRY_ASSIGN(const bool is_new, node.flag_attribute("new_axis", false));
  if (sequence.elements->empty()) return node.operand_error(0, "is empty, expected tensors to join");
  std::vector<Tensor> tensors;
  for (const OnnxValue& element : *sequence.elements) {
    MILLRACE_TRY_ASSIGN(tensors.emplace_back(), node.materialize(element));
  }
  const std::size_t rank = tensors[0].shape().rank() + (is_new ? 1 : 0);
  if (!find_axis(axis, rank)) {
    return node.attribute_error("axis", fmt::format("found {}, expected an axis of a tensor of rank {}", axis, rank));
  }
  return is_new ? stack(tensors, axis) : concat(tensors, axis);
}

/// An optional that has a value is imported as that value.
Result<OnnxResults> import_optional(OnnxNodeContext& node) {
  node.ignore_attribute("type");
  if (!node.has(0)) return unimplemented(": an optional without a value is not supported");
  return node.value(0);
}

Result<OnnxResults> import_optional_get_element(OnnxNodeContext& node) {
  if (!node.has(0)) return node.operand_error(0, "is missing, expected an optional that has a value");
  return node.value(0);
}

Result<OnnxResults> import_optional_has_element(OnnxNodeContext& node) {
  const bool has_value = node.has(0);
  return constant_of(Shape(), std::span<const bool>(&has_value, 1));
}

}  // namespace millrace
