// SPDX-License-Identifier: Apache-2.0
// The table of the ops that can be imported.
#include "graph/import/onnx/op_table.h"

#include <algorithm>
#include <array>

#include "graph/import/onnx/ops/elementwise.h"

namespace millrace {

// Each function is defined in the file of its group in ops/.
#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/onnx_ops.inc"

namespace {

constexpr OnnxOp kOps[] = {
#define MILLRACE_ONNX_OP(name, since_version, function) {#name, since_version, function},
#define MILLRACE_ONNX_UNARY(name, since_version, function) {#name, since_version, import_unary<&function>},
#define MILLRACE_ONNX_BINARY(name, since_version, function) {#name, since_version, import_binary<&function>},
#include "graph/import/onnx/onnx_ops.inc"
};

constexpr auto kSortedOps = [] {
  auto ops = std::to_array(kOps);
  std::ranges::sort(ops, {}, &OnnxOp::name);
  return ops;
}();
static_assert(std::ranges::adjacent_find(kSortedOps, {}, &OnnxOp::name) == kSortedOps.end(), "an op is listed twice");

}  // namespace

const OnnxOp* find_onnx_op(std::string_view name) {
  const auto* found = std::ranges::lower_bound(kSortedOps, name, {}, &OnnxOp::name);
  return found != kSortedOps.end() && found->name == name ? found : nullptr;
}

}  // namespace millrace
