// SPDX-License-Identifier: Apache-2.0
// Imports ops that add elements around a tensor, or cut some off.
#include <fmt/format.h>

#include "graph/import/onnx/ops/image/unfold.h"
#include "graph/import/onnx/ops/shape_helpers.h"
#include "millrace/base/printable.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/image.inc"
#undef MILLRACE_ONNX_OP

namespace {

struct Padding {
  std::vector<SizeExpr> low, high;  // one per dim; negative counts cut elements off
};

/// The axes that operand `operand` of the node names; all axes if it is missing.
Result<std::vector<std::int64_t>> padded_axes(OnnxNodeContext& node, std::size_t operand, std::size_t rank) {
  std::vector<std::int64_t> axes;
  if (node.version() < 18 || !node.has(operand)) {
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(static_cast<std::int64_t>(d));
    return axes;
  }
  MILLRACE_TRY_ASSIGN(const std::vector<std::int64_t> named, node.integers(operand));
  std::vector<bool> is_named(rank);
  for (const std::int64_t given : named) {
    const std::optional<std::int64_t> axis = find_axis(given, rank);
    if (!axis || is_named[static_cast<std::size_t>(*axis)]) {
      return node.operand_error(operand,
                                fmt::format("found {}, expected different axes of a tensor of rank {}", given, rank));
    }
    is_named[static_cast<std::size_t>(*axis)] = true;
    axes.push_back(*axis);
  }
  return axes;
}

Result<Padding> read_padding(OnnxNodeContext& node, const Shape& shape) {
  std::vector<SizeExpr> counts;
  if (node.version() >= 11) {
    MILLRACE_TRY_ASSIGN(OnnxSizes sizes, node.sizes(1));
    if (sizes.divisor != 1) return node.operand_error(1, "is not a list of integers");
    counts = std::move(sizes.values);
  } else {
    const std::string_view name = node.version() < 2 ? "paddings" : "pads";
    MILLRACE_TRY_ASSIGN(const std::optional<std::vector<std::int64_t>> pads, node.integers_attribute(name));
    if (!pads) return node.attribute_error(name, "is missing");
    counts.assign(pads->begin(), pads->end());
  }
  MILLRACE_TRY_ASSIGN(const std::vector<std::int64_t> axes, padded_axes(node, 3, shape.rank()));
  if (counts.size() != 2 * axes.size()) {
    return invalid_argument(
        fmt::format(": has {} counts of padding, expected two for each of {} axes", counts.size(), axes.size()));
  }
  Padding padding{std::vector<SizeExpr>(shape.rank()), std::vector<SizeExpr>(shape.rank())};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    padding.low[static_cast<std::size_t>(axes[i])] = counts[i];
    padding.high[static_cast<std::size_t>(axes[i])] = counts[axes.size() + i];
  }
  return padding;
}

/// The element of a constant with one element, as a number that its dtype holds exactly.
Result<Number> number_of(OnnxNodeContext& node, std::size_t operand, const OnnxConstant& constant) {
  if (!constant.type.shape.num_elements().is(1)) {
    return node.operand_error(operand, fmt::format("is {}, expected one number", constant.type.to_text()));
  }
  if (const std::optional<std::vector<std::int64_t>> integers = integers_of(constant)) {
    if (constant.type.dtype == DType::kU64) return Number(static_cast<std::uint64_t>((*integers)[0]));
    return Number((*integers)[0]);
  }
  return Number(numbers_of(constant)[0]);
}

Result<OnnxResults> pad_by_value(OnnxNodeContext& node, Tensor x, const Padding& padding) {
  if (node.version() < 11) {
    MILLRACE_TRY_ASSIGN(const double value, node.number_attribute("value", 0));
    return pad_or_cut(x, padding.low, padding.high, Number(value));
  }
  MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> known, node.known(2));
  if (known && known->type.dtype == x.dtype()) {
    MILLRACE_TRY_ASSIGN(const Number value, number_of(node, 2, *known));
    return pad_or_cut(x, padding.low, padding.high, value);
  }
  const Tensor padded = pad_or_cut(x, padding.low, padding.high);
  if (!node.has(2)) return padded;
  MILLRACE_TRY_ASSIGN(const Tensor value, node.tensor(2));
  if (!value.shape().num_elements().is(1)) {
    return node.operand_error(2, fmt::format("is {}, expected one number", value.type().to_text()));
  }
  const Tensor is_inside = pad_or_cut(node.graph().fill(DType::kBool, x.shape(), 1), padding.low, padding.high);
  return where(is_inside, padded, reshape(value, {}));
}

/// Repeats x on both sides of each axis.
Tensor pad_wrapped(Tensor x, const Padding& padding) {
  GraphBuilder& graph = *x.builder();
  const Shape from = x.shape();
  for (std::size_t d = 0; d < from.rank() && x.is_valid(); ++d) {
    if (padding.low[d].is(0) && padding.high[d].is(0)) continue;
    const Tensor extent = size_of(graph, from[d]);
    const Tensor place = iota(graph, DType::kI64, {from[d] + padding.low[d] + padding.high[d]}, 0);
    const Tensor rest = rem(place - size_of(graph, padding.low[d]), extent);
    x = gather(x, where(less(rest, 0), rest + extent, rest), static_cast<std::int64_t>(d));
  }
  return x;
}

}  // namespace

/// Every mode except constant first cuts off the elements that negative counts remove.
Result<OnnxResults> import_pad(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(Padding padding, read_padding(node, x.shape()));
  MILLRACE_TRY_ASSIGN(const std::string_view mode, node.text_attribute("mode", "constant"));
  if (mode == "constant") return pad_by_value(node, x, padding);
  const bool wraps = mode == "wrap" && node.version() >= 19;
  if (mode != "reflect" && mode != "edge" && !wraps) {
    return node.attribute_error(
        "mode",
        fmt::format("found '{}', expected constant, reflect, edge or, from version 19 on, wrap", printable(mode)));
  }
  if (node.version() >= 11) node.ignore_operand(2);
  if (node.version() < 11) node.ignore_attribute("value");
  Padding cut = padding;
  for (std::size_t d = 0; d < padding.low.size(); ++d) {
    cut.low[d] = min(padding.low[d], 0);
    cut.high[d] = min(padding.high[d], 0);
    padding.low[d] = max(padding.low[d], 0);
    padding.high[d] = max(padding.high[d], 0);
  }
  MILLRACE_TRY_ASSIGN(x, node.built(pad_or_cut(x, cut.low, cut.high)));
  if (wraps) return pad_wrapped(x, padding);
  return mode == "edge" ? pad_edge(x, padding.low, padding.high) : pad_reflect(x, padding.low, padding.high);
}

/// The middle of each axis stays. If an odd number of elements is added or cut off, one more of them is at the end.
Result<OnnxResults> import_center_crop_pad(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Shape wanted, shape_of_sizes(node, 1));
  MILLRACE_TRY_ASSIGN(const std::optional<std::vector<std::int64_t>> axes, node.integers_attribute("axes"));
  const std::size_t rank = x.shape().rank();
  if (wanted.rank() != (axes ? axes->size() : rank)) {
    return node.operand_error(1, fmt::format("has {} sizes, expected one per axis", wanted.rank()));
  }
  Padding padding{std::vector<SizeExpr>(rank), std::vector<SizeExpr>(rank)}, cut = padding;
  for (std::size_t i = 0; i < wanted.rank(); ++i) {
    const std::int64_t given = axes ? (*axes)[i] : static_cast<std::int64_t>(i);
    const std::optional<std::int64_t> axis = find_axis(given, rank);
    if (!axis) {
      return node.attribute_error("axes", fmt::format("found {}, expected axes of a tensor of rank {}", given, rank));
    }
    const auto d = static_cast<std::size_t>(*axis);
    const SizeExpr more = max(wanted[i] - x.shape()[d], 0), less = max(x.shape()[d] - wanted[i], 0);
    padding.low[d] = floor_div(more, 2);
    padding.high[d] = more - padding.low[d];
    cut.low[d] = 0 - floor_div(less, 2);
    cut.high[d] = floor_div(less, 2) - less;
  }
  MILLRACE_TRY_ASSIGN(const Tensor middle, node.built(pad_or_cut(x, cut.low, cut.high)));
  return pad_or_cut(middle, padding.low, padding.high);
}

}  // namespace millrace
