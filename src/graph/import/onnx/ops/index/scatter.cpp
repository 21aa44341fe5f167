// SPDX-License-Identifier: Apache-2.0
// Imports scatters.
#include <fmt/format.h>

#include "graph/composites/index.h"
#include "graph/import/onnx/node_context.h"
#include "millrace/base/printable.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/index.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// How updates combine with elements. The attribute exists from version 16 on.
Result<ScatterReduction> read_reduction(OnnxNodeContext& node) {
  std::string_view name = "none";
  if (node.version() >= 16) {
    MILLRACE_TRY_ASSIGN(name, node.text_attribute("reduction", "none"));
  }
  if (name == "none") return ScatterReduction::kReplace;
  if (name == "add") return ScatterReduction::kAdd;
  if (name == "min" && node.version() >= 18) return ScatterReduction::kMin;
  if (name == "max" && node.version() >= 18) return ScatterReduction::kMax;
  if (name == "mul") return ScatterReduction::kMul;
  return node.attribute_error("reduction", fmt::format("found '{}', expected none, add, mul or, from version 18 on, "
                                                       "min or max",
                                                       printable(name)));
}

}  // namespace

Result<OnnxResults> import_scatter_elements(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor indices, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const Tensor updates, node.tensor(2));
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", x.shape().rank(), 0));
  MILLRACE_TRY_ASSIGN(const ScatterReduction reduction, read_reduction(node));
  return scatter_elements(x, indices, updates, axis, reduction);
}

Result<OnnxResults> import_scatter_nd(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor indices, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const Tensor updates, node.tensor(2));
  MILLRACE_TRY_ASSIGN(const ScatterReduction reduction, read_reduction(node));
  return scatter_nd(x, indices, updates, reduction);
}

/// Writes the update into a cache, from one start index per batch element on. In the mode circular, it wraps around.
Result<OnnxResults> import_tensor_scatter(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor cache, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor update, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const Tensor first, node.optional_tensor(2));
  MILLRACE_TRY_ASSIGN(const std::string_view mode, node.text_attribute("mode", "linear"));
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", cache.shape().rank(), -2));
  if (mode != "linear" && mode != "circular") {
    return node.attribute_error("mode", fmt::format("found '{}', expected linear or circular", printable(mode)));
  }
  Shape expected = cache.shape();
  if (axis > 0 && update.shape().rank() == expected.rank()) {
    expected[static_cast<std::size_t>(axis)] = update.shape()[static_cast<std::size_t>(axis)];
  }
  if (axis == 0 || update.shape() != expected) {
    return node.operand_error(1,
                              fmt::format("is {}, expected the dims of operand 0, {}, except along an axis after the "
                                          "first",
                                          update.type().to_text(), cache.type().to_text()));
  }
  const auto along = static_cast<std::size_t>(axis);
  Tensor place = positions(node.graph(), update.shape(), along);
  if (first.builder() != nullptr) place = place + broadcast(cast(first, DType::kI64), update.shape(), {0});
  if (mode == "circular") place = rem(place, size_of(node.graph(), cache.shape()[along]));
  return scatter_elements(cache, place, update, axis);
}

}  // namespace millrace
