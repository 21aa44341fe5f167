// SPDX-License-Identifier: Apache-2.0
// Reads the attributes of a node for the function that imports its op, and checks their types.
#include <fmt/format.h>

#include "graph/import/onnx/element_types.h"
#include "graph/import/onnx/node_context.h"
#include "graph/import/onnx/read_tensor.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

constexpr const char* kTypeNames[] = {
    "UNDEFINED", "FLOAT",   "INT",    "STRING",        "TENSOR",         "GRAPH",      "FLOATS",     "INTS",
    "STRINGS",   "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};

std::string type_name(std::int32_t type) {
  const bool is_known = type >= 0 && type < std::int32_t{std::size(kTypeNames)};
  return is_known ? kTypeNames[type] : fmt::format("type {}", type);
}

}  // namespace

Status OnnxNodeContext::attribute_error(std::string_view name, const std::string& reason) const {
  return invalid_argument(fmt::format(".attribute '{}': {}", printable(name), reason));
}

Status OnnxNodeContext::missing_attribute(std::string_view name) const {
  return attribute_error(name, fmt::format("is missing, but {} needs it", printable(op())));
}

const AttributeProto* OnnxNodeContext::find_attribute(std::string_view name) {
  for (std::size_t i = 0; i < node_.attribute.size(); ++i) {
    const AttributeProto& attribute = node_.attribute[i];
    if (attribute.name != name) continue;
    are_attributes_read_[i] = true;
    if (attribute.ref_attr_name.empty()) return &attribute;
    if (scope_.call == nullptr) return nullptr;
    const auto found = scope_.call->find(attribute.ref_attr_name);
    return found == scope_.call->end() ? nullptr : found->second.attribute;
  }
  return nullptr;
}

const OnnxScope& OnnxNodeContext::scope_of(std::string_view attribute) const {
  for (const AttributeProto& given : node_.attribute) {
    if (given.name != attribute || given.ref_attr_name.empty() || scope_.call == nullptr) continue;
    const auto found = scope_.call->find(given.ref_attr_name);
    if (found != scope_.call->end() && found->second.scope != nullptr) return *found->second.scope;
  }
  return scope_;
}

bool OnnxNodeContext::has_attribute(std::string_view name) { return find_attribute(name) != nullptr; }

template <class Holds>
Result<const AttributeProto*> OnnxNodeContext::typed_attribute(std::string_view name, AttributeType type,
                                                               bool is_required, Holds holds) {
  const AttributeProto* attribute = find_attribute(name);
  if (attribute == nullptr) {
    if (is_required) return missing_attribute(name);
    return attribute;
  }
  const auto wanted = static_cast<std::int32_t>(type);
  // Before IR version 2, attributes had no type. If the type is set, the value may be absent: proto3 writers omit
  // zeros.
  const bool has_type = attribute->type == wanted || (attribute->type == 0 && holds(*attribute));
  if (has_type) return attribute;
  return attribute_error(name,
                         fmt::format("is of type {}, expected {}", type_name(attribute->type), type_name(wanted)));
}

Result<std::int64_t> OnnxNodeContext::integer_attribute(std::string_view name, std::optional<std::int64_t> otherwise) {
  MILLRACE_TRY_ASSIGN(const AttributeProto* found,
                      typed_attribute(name, AttributeType::kInt, !otherwise, [](const auto& a) { return a.i; }));
  return found == nullptr ? *otherwise : found->i.value_or(0);
}

Result<bool> OnnxNodeContext::flag_attribute(std::string_view name, std::optional<bool> otherwise) {
  const std::optional<std::int64_t> integer = otherwise ? std::optional<std::int64_t>(*otherwise) : std::nullopt;
  MILLRACE_TRY_ASSIGN(const std::int64_t value, integer_attribute(name, integer));
  if (value == 0 || value == 1) return value == 1;
  return attribute_error(name, fmt::format("found {}, expected 0 or 1", value));
}

Result<double> OnnxNodeContext::number_attribute(std::string_view name, std::optional<double> otherwise) {
  MILLRACE_TRY_ASSIGN(const AttributeProto* found,
                      typed_attribute(name, AttributeType::kFloat, !otherwise, [](const auto& a) { return a.f; }));
  return double{found == nullptr ? static_cast<float>(*otherwise) : found->f.value_or(0)};
}

Result<std::string_view> OnnxNodeContext::text_attribute(std::string_view name,
                                                         std::optional<std::string_view> otherwise) {
  MILLRACE_TRY_ASSIGN(const AttributeProto* found,
                      typed_attribute(name, AttributeType::kString, !otherwise, [](const auto& a) { return a.s; }));
  return found == nullptr ? *otherwise : found->s.value_or("");
}

Result<std::optional<std::vector<std::int64_t>>> OnnxNodeContext::integers_attribute(std::string_view name) {
  MILLRACE_TRY_ASSIGN(const AttributeProto* found, typed_attribute(name, AttributeType::kInts, false,
                                                                   [](const auto& a) { return !a.ints.empty(); }));
  return found == nullptr ? std::nullopt : std::optional(found->ints);
}

Result<std::optional<std::vector<double>>> OnnxNodeContext::numbers_attribute(std::string_view name) {
  MILLRACE_TRY_ASSIGN(const AttributeProto* found, typed_attribute(name, AttributeType::kFloats, false,
                                                                   [](const auto& a) { return !a.floats.empty(); }));
  if (found == nullptr) return std::optional<std::vector<double>>();
  return std::optional(std::vector<double>(found->floats.begin(), found->floats.end()));
}

Result<std::optional<std::vector<std::string_view>>> OnnxNodeContext::texts_attribute(std::string_view name) {
  MILLRACE_TRY_ASSIGN(const AttributeProto* found, typed_attribute(name, AttributeType::kStrings, false,
                                                                   [](const auto& a) { return !a.strings.empty(); }));
  return found == nullptr ? std::nullopt : std::optional(found->strings);
}

Result<OnnxValue> OnnxNodeContext::tensor_attribute(std::string_view name) {
  MILLRACE_TRY_ASSIGN(const AttributeProto* found, typed_attribute(name, AttributeType::kTensor, true,
                                                                   [](const auto& a) { return a.t != nullptr; }));
  if (found->t == nullptr) return missing_attribute(name);
  return import_.read(*found->t, fmt::format(".attribute '{}'", name));
}

Result<OnnxValue> OnnxNodeContext::sparse_attribute(std::string_view name) {
  MILLRACE_TRY_ASSIGN(const AttributeProto* found,
                      typed_attribute(name, AttributeType::kSparseTensor, true,
                                      [](const auto& a) { return a.sparse_tensor != nullptr; }));
  if (found->sparse_tensor == nullptr) return missing_attribute(name);
  return read_sparse_tensor(*found->sparse_tensor, fmt::format(".attribute '{}'", name), import_.model.file,
                            import_.external, import_.folding.element_room);
}

Result<const GraphProto*> OnnxNodeContext::graph_attribute(std::string_view name) {
  MILLRACE_TRY_ASSIGN(const AttributeProto* found,
                      typed_attribute(name, AttributeType::kGraph, true, [](const auto& a) { return a.g != nullptr; }));
  if (found->g == nullptr) return missing_attribute(name);
  return found->g.get();
}

Result<DType> OnnxNodeContext::dtype_attribute(std::string_view name, std::optional<DType> otherwise) {
  if (otherwise && !has_attribute(name)) return *otherwise;
  MILLRACE_TRY_ASSIGN(const std::int64_t type, integer_attribute(name));
  if (const std::optional<DType> dtype = dtype_of_onnx(type)) return *dtype;
  return attribute_error(name, fmt::format("elements of {} are not supported here", onnx_type_name(type)));
}

Result<std::int64_t> OnnxNodeContext::axis_attribute(std::string_view name, std::size_t rank,
                                                     std::optional<std::int64_t> otherwise) {
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, integer_attribute(name, otherwise));
  if (const std::optional<std::int64_t> found = find_axis(axis, rank)) return *found;
  return attribute_error(name, fmt::format("found {}, expected an axis of a tensor of rank {}", axis, rank));
}

Result<std::map<std::string, OnnxAttribute>> OnnxNodeContext::all_attributes() {
  std::map<std::string, OnnxAttribute> all;
  for (const AttributeProto& given : node_.attribute) {
    const AttributeProto* attribute = find_attribute(given.name);
    if (attribute == nullptr) continue;  // refers to an attribute that the call does not pass
    OnnxAttribute& value = all[std::string(given.name)];
    switch (static_cast<AttributeType>(attribute->type)) {
      case AttributeType::kFloat:
        value = double{attribute->f.value_or(0)};
        break;
      case AttributeType::kInt:
        value = attribute->i.value_or(0);
        break;
      case AttributeType::kString:
        value = std::string(attribute->s.value_or(""));
        break;
      case AttributeType::kFloats:
        value = std::vector<double>(attribute->floats.begin(), attribute->floats.end());
        break;
      case AttributeType::kInts:
        value = attribute->ints;
        break;
      case AttributeType::kStrings:
        value = std::vector<std::string>(attribute->strings.begin(), attribute->strings.end());
        break;
      case AttributeType::kTensor: {
        MILLRACE_TRY_ASSIGN(const OnnxValue tensor, tensor_attribute(given.name));
        if (tensor.constant() == nullptr) return attribute_error(given.name, "has elements that no dtype holds");
        value = *tensor.constant();
        break;
      }
      default:
        return attribute_error(given.name, fmt::format("is of type {}, expected numbers, texts or one tensor",
                                                       type_name(attribute->type)));
    }
  }
  return all;
}

}  // namespace millrace
