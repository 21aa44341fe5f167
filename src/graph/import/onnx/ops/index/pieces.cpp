// SPDX-License-Identifier: Apache-2.0
// Imports ops that cut, repeat and mask tensors.
#include <cmath>

#include <fmt/format.h>

#include "graph/composites/index.h"
#include "graph/import/onnx/node_context.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/index.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// The sizes of the parts, if the node states them: in an operand from version 13 on, in an attribute before. If it
/// does not, the parts are equal.
Result<std::optional<std::vector<SizeExpr>>> read_parts(OnnxNodeContext& node) {
  using Parts = std::optional<std::vector<SizeExpr>>;
  if (node.version() < 13) {
    if (node.version() < 2 && node.has(1)) {
      return node.operand_error(1, "has the sizes of the parts as floats; give them as the attribute 'split'");
    }
    MILLRACE_TRY_ASSIGN(const std::optional<std::vector<std::int64_t>> list, node.integers_attribute("split"));
    return list ? Parts(std::in_place, list->begin(), list->end()) : Parts();
  }
  if (!node.has(1)) return Parts();
  MILLRACE_TRY_ASSIGN(OnnxSizes sizes, node.sizes(1));
  return Parts(std::move(sizes.values));
}

/// Equal parts. From version 18 on, the last part may be shorter. Before, a symbolic dim that is not known to be a
/// multiple of the count is divided as if it were the next smaller multiple.
Result<std::vector<SizeExpr>> equal_parts(OnnxNodeContext& node, const SizeExpr& extent) {
  auto count = static_cast<std::int64_t>(node.num_results());
  if (node.version() >= 18) {
    MILLRACE_TRY_ASSIGN(count, node.integer_attribute("num_outputs", count));
  }
  if (count < 1 || count > static_cast<std::int64_t>(node.num_results())) {
    return node.attribute_error("num_outputs",
                                fmt::format("found {}, but the node has {} results", count, node.num_results()));
  }
  const bool is_even = extent.known_multiple() % count == 0;
  if (!is_even && node.version() < 18 && !extent.is_constant()) {
    return std::vector<SizeExpr>(static_cast<std::size_t>(count), floor_div(extent, count));
  }
  const SizeExpr part = ceil_div(extent, count);
  if (!is_even && (node.version() < 18 || !extent.is_constant())) {
    return invalid_argument(
        fmt::format(": {} elements are not known to make {} equal parts; give the dim a divisor or a value",
                    extent.to_text(), count));
  }
  if (!is_even && part.constant() * (count - 1) > extent.constant()) {
    return invalid_argument(
        fmt::format(": {} elements cannot be split into {} parts of {} elements; only the last part may have fewer",
                    extent.to_text(), count, part.to_text()));
  }
  std::vector<SizeExpr> parts(static_cast<std::size_t>(count), part);
  if (!is_even) parts.back() = extent - part * (count - 1);
  return parts;
}

/// Lists of sizes stay sizes. Empty if the value is not such a list, or if the parts are not known to divide it.
std::optional<std::vector<OnnxValue>> split_sizes(const OnnxValue& value, std::span<const SizeExpr> parts) {
  const std::optional<OnnxSizes> sizes = value.as_sizes();
  if (!sizes || sizes->rank() != 1) return {};
  std::vector<OnnxValue> results;
  std::size_t next = 0;
  for (const SizeExpr& part : parts) {
    const std::size_t left = sizes->values.size() - next;
    if (!part.is_constant() || part.constant() < 0 || static_cast<std::size_t>(part.constant()) > left) return {};
    const auto first = sizes->values.begin() + static_cast<std::ptrdiff_t>(next);
    next += static_cast<std::size_t>(part.constant());
    results.emplace_back(OnnxSizes{sizes->dtype, {part.constant()}, {first, first + part.constant()}, sizes->divisor});
  }
  if (next != sizes->values.size()) return {};
  return results;
}

}  // namespace

Result<OnnxResults> import_split(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", type.shape.rank(), 0));
  MILLRACE_TRY_ASSIGN(std::optional<std::vector<SizeExpr>> parts, read_parts(node));
  if (!parts) {
    MILLRACE_TRY_ASSIGN(parts, equal_parts(node, type.shape[static_cast<std::size_t>(axis)]));
  }
  if (std::optional<std::vector<OnnxValue>> sizes = split_sizes(node.value(0), *parts)) return *std::move(sizes);
  MILLRACE_TRY_ASSIGN(Tensor x, node.tensor(0));
  SizeExpr sum;
  for (const SizeExpr& part : *parts) sum = sum + part;
  MILLRACE_TRY(node.match_dim(x, static_cast<std::size_t>(axis), sum));
  return split(x, *std::move(parts), axis);
}

namespace {

/// Before version 6: the number of copies and the axis, each one number of any dtype.
Result<OnnxResults> import_old_tile(OnnxNodeContext& node, Tensor x) {
  MILLRACE_TRY_ASSIGN(const double copies, node.number(1));
  MILLRACE_TRY_ASSIGN(const double axis, node.number(2));
  const std::size_t rank = x.shape().rank();
  if (!(copies >= 0 && copies < 0x1p48 && copies == std::floor(copies))) {
    return node.operand_error(1, fmt::format("is {}, expected a number of copies", copies));
  }
  if (!(axis >= 0 && axis < static_cast<double>(rank) && axis == std::floor(axis))) {
    return node.operand_error(2, fmt::format("is {}, expected an axis of a tensor of rank {}", axis, rank));
  }
  std::vector<SizeExpr> repeats(rank, SizeExpr(1));
  repeats[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(copies);
  return tile(x, std::move(repeats));
}

}  // namespace

Result<OnnxResults> import_tile(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  if (node.version() < 6) return import_old_tile(node, x);
  MILLRACE_TRY_ASSIGN(OnnxSizes repeats, node.sizes(1));
  if (repeats.divisor != 1) return node.operand_error(1, "is not a list of integers");
  return tile(x, std::move(repeats.values));
}

/// Joins the dims before the axis into one, and the dims from the axis on into another. The axis may equal the rank.
Result<OnnxResults> import_flatten(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  const std::vector<SizeExpr>& dims = x.shape().dims();
  const auto rank = static_cast<std::int64_t>(dims.size());
  MILLRACE_TRY_ASSIGN(const std::int64_t given, node.integer_attribute("axis", 1));
  const std::int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis > rank) {
    return node.attribute_error("axis", fmt::format("found {}, expected {} to {}", given, -rank, rank));
  }
  const auto middle = dims.begin() + axis;
  const SizeExpr before = Shape(std::vector<SizeExpr>(dims.begin(), middle)).num_elements();
  return reshape(x, {before, Shape(std::vector<SizeExpr>(middle, dims.end())).num_elements()});
}

/// 1 on the diagonal `k` of a matrix with the operand's shape, otherwise 0.
Result<OnnxResults> import_eye_like(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  MILLRACE_TRY_ASSIGN(const DType dtype, node.dtype_attribute("dtype", type.dtype));
  MILLRACE_TRY_ASSIGN(const std::int64_t diagonal, node.integer_attribute("k", 0));
  if (type.shape.rank() != 2) return node.operand_error(0, fmt::format("is {}, expected a matrix", type.to_text()));
  const Tensor row = positions(node.graph(), type.shape, 0), column = positions(node.graph(), type.shape, 1);
  return cast(equal(column - row, diagonal), dtype);
}

/// The diagonal may be computed at run time.
Result<OnnxResults> import_trilu(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const bool upper, node.flag_attribute("upper", true));
  MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> known, node.known(1));
  if (!node.has(1) || known) {
    std::int64_t diagonal = 0;
    if (known) {
      MILLRACE_TRY_ASSIGN(diagonal, node.integer(1));
    }
    return trilu(x, upper, diagonal);
  }
  MILLRACE_TRY_ASSIGN(const Tensor diagonal, node.tensor(1));
  const Shape shape = x.shape();
  if (shape.rank() < 2) {
    return node.operand_error(0, fmt::format("is {}, expected rank 2 or more", x.type().to_text()));
  }
  const Tensor row = positions(node.graph(), shape, shape.rank() - 2);
  const Tensor column = positions(node.graph(), shape, shape.rank() - 1);
  const Tensor edge = row + broadcast_to(reshape(diagonal, {}), shape);
  const Tensor is_kept = upper ? greater_equal(column, edge) : less_equal(column, edge);
  return select(is_kept, x, node.graph().fill(x.dtype(), shape, 0));
}

}  // namespace millrace
