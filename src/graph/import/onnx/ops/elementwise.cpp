// SPDX-License-Identifier: Apache-2.0
// Imports elementwise ops.
#include "graph/import/onnx/ops/elementwise.h"

#include <fmt/format.h>

#include "graph/import/onnx/element_types.h"
#include "graph/import/onnx/ops/old_broadcast.h"
#include "graph/import/onnx/ops/size_ops.h"
#include "millrace/base/printable.h"

namespace millrace {

#define MILLRACE_ONNX_UNARY(name, since_version, function)
#define MILLRACE_ONNX_BINARY(name, since_version, function)
#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/elementwise.inc"
#undef MILLRACE_ONNX_UNARY
#undef MILLRACE_ONNX_BINARY
#undef MILLRACE_ONNX_OP

namespace {

/// Both operands as fractions if either depends on symbols, otherwise as integers. Empty if one of them is not known.
std::optional<std::pair<OnnxSizes, OnnxSizes>> read_sizes(OnnxNodeContext& node) {
  if (node.num_operands() != 2) return {};
  const OnnxValue &x = node.value(0), &y = node.value(1);
  const bool are_symbols = x.sizes() != nullptr || y.sizes() != nullptr;
  std::optional<OnnxSizes> a = are_symbols ? x.as_fractions() : x.as_sizes();
  if (!a) return {};
  std::optional<OnnxSizes> b = are_symbols ? y.as_fractions() : y.as_sizes();
  if (!b) return {};
  return std::pair(*std::move(a), *std::move(b));
}

/// Names the fact that is missing: the op and the first element of each operand.
std::shared_ptr<const std::string> undecided(const std::pair<OnnxSizes, OnnxSizes>& operands, std::string_view op) {
  const auto first = [](const OnnxSizes& sizes) { return sizes.values.empty() ? "" : sizes.values[0].to_text(); };
  return std::make_shared<const std::string>(
      fmt::format("{} of {} and {}", op, first(operands.first), first(operands.second)));
}

}  // namespace

std::optional<OnnxResults> import_sizes(OnnxNodeContext& node) {
  if (!has_size_op(node.op())) return {};
  const auto operands = read_sizes(node);
  std::optional<OnnxSizes> result = operands ? combine_by(node.op(), operands->first, operands->second) : std::nullopt;
  if (!result) return {};
  return OnnxResults(*std::move(result));
}

Result<OnnxResults> import_unary_by(OnnxNodeContext& node, UnaryFunction function) {
  if (const OnnxSizes* sizes = node.value(0).sizes()) {
    std::optional<OnnxSizes> result = apply_by(node.op(), *sizes);
    if (result) return *std::move(result);
  }
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  return function(x);
}

Result<OnnxResults> import_binary_by(OnnxNodeContext& node, BinaryFunction function) {
  MILLRACE_TRY_ASSIGN(const TensorType right, node.type(1));
  MILLRACE_TRY_ASSIGN(const Shape shape, broadcast_shape(node));
  if (shape == right.shape) {
    if (std::optional<OnnxResults> sizes = import_sizes(node)) return *std::move(sizes);
  }
  MILLRACE_TRY_ASSIGN(Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(Tensor y, right_operand(node));
  MILLRACE_TRY(node.match_dims({&x, &y}));
  OnnxValue result(function(x, y));
  const auto operands = has_size_op(node.op()) ? read_sizes(node) : std::nullopt;
  if (operands) result = std::move(result).because(undecided(*operands, node.op()));
  return result;
}

/// Identity also passes on sizes, constants and sequences.
Result<OnnxResults> import_identity(OnnxNodeContext& node) {
  if (!node.has(0)) return node.operand_error(0, "is missing");
  return node.value(0);
}

namespace {

/// The attribute `to`: the number of a type or, before version 6, its name.
Result<DType> read_cast_type(OnnxNodeContext& node) {
  if (node.version() >= 6) return node.dtype_attribute("to");
  MILLRACE_TRY_ASSIGN(const std::string_view name, node.text_attribute("to"));
  const std::optional<DType> dtype = dtype_of_onnx_name(name);
  if (dtype) return *dtype;
  return node.attribute_error("to", fmt::format("elements of {} are not supported here", printable(name)));
}

}  // namespace

/// ONNX does not define the cast of a float that is outside the range of an integer dtype. Ours saturates.
Result<OnnxResults> import_cast(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const DType to, read_cast_type(node));
  node.ignore_attribute("saturate");    // only for 8-bit floats
  node.ignore_attribute("round_mode");  // only for 8-bit floats
  if (std::optional<OnnxSizes> sizes = node.value(0).as_sizes()) {
    std::optional<OnnxSizes> result = cast_sizes(*std::move(sizes), to);
    if (result) return *std::move(result);
  }
  if (node.value(0).foreign() != nullptr) {
    MILLRACE_TRY_ASSIGN(const OnnxConstant unpacked, node.unpacked(0));
    MILLRACE_TRY_ASSIGN(const Tensor x, node.materialize(unpacked));
    return cast(x, to);
  }
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  return cast(x, to);
}

namespace {

/// The chosen elements, if the condition is known and the others are sizes.
std::optional<OnnxSizes> choose_sizes(const OnnxValue& condition, const OnnxValue& if_true, const OnnxValue& if_false) {
  const std::optional<OnnxSizes> which = condition.as_sizes();
  if (!which || !which->are_numbers()) return {};
  const bool are_symbols = if_true.sizes() != nullptr || if_false.sizes() != nullptr;
  const auto read = [&](const OnnxValue& value) { return are_symbols ? value.as_fractions() : value.as_sizes(); };
  const std::optional<OnnxSizes> x = read(if_true), y = x ? read(if_false) : std::nullopt;
  const auto both = y ? with_common_divisor(*x, *y) : std::nullopt;
  if (!both || x->dtype != y->dtype) return {};
  const SizeFunction first = [](const SizeExpr& a, const SizeExpr&) { return std::optional(a); };
  const std::optional<OnnxSizes> joint = combine_sizes(both->first, both->second, x->dtype, first);
  const std::optional<OnnxSizes> all = joint ? combine_sizes(*joint, *which, x->dtype, first) : std::nullopt;
  if (!all) return {};
  const OnnxSizes where = broadcast_sizes(*which, all->shape);
  OnnxSizes result = broadcast_sizes(both->first, all->shape);
  const OnnxSizes otherwise = broadcast_sizes(both->second, all->shape);
  for (std::size_t i = 0; i < where.values.size(); ++i) {
    if (where.values[i].is(0)) result.values[i] = otherwise.values[i];
  }
  return reduced(std::move(result));
}

}  // namespace

Result<OnnxResults> import_where(OnnxNodeContext& node) {
  std::optional<OnnxSizes> sizes = choose_sizes(node.value(0), node.value(1), node.value(2));
  if (sizes) return *std::move(sizes);
  MILLRACE_TRY_ASSIGN(Tensor which, node.tensor(0));
  MILLRACE_TRY_ASSIGN(Tensor x, node.tensor(1));
  MILLRACE_TRY_ASSIGN(Tensor y, node.tensor(2));
  MILLRACE_TRY(node.match_dims({&which, &x, &y}));
  return where(which, x, y);
}

}  // namespace millrace
