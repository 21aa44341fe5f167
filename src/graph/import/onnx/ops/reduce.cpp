// SPDX-License-Identifier: Apache-2.0
// Imports reductions, and the ops that normalize along one axis: softmax and its relatives.
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "graph/import/onnx/ops/shape_helpers.h"
#include "graph/import/onnx/ops/size_ops.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/matrix.inc"
#undef MILLRACE_ONNX_OP

namespace {

using Axes = std::vector<std::int64_t>;
using Reduction = std::function<Tensor(Tensor x, Axes axes, bool keep_dims)>;

/// Reduces a list of sizes by an op of two sizes. Empty if the operand or the result is not known as sizes.
std::optional<OnnxSizes> reduce_sizes(OnnxNodeContext& node, std::string_view op, bool keep_dims) {
  const std::optional<OnnxSizes> list = node.value(0).as_sizes();
  if (!list || list->rank() != 1 || list->values.empty() || list->are_floats()) return {};
  std::optional<OnnxSizes> result = OnnxSizes::scalar(list->values[0], list->dtype);
  for (std::size_t i = 1; i < list->values.size(); ++i) {
    result = combine_by(op, *result, OnnxSizes::scalar(list->values[i], list->dtype));
    if (!result) return {};
  }
  if (keep_dims) result->shape = {1};
  return result;
}

/// Reads the attributes and builds the reduction. Without axes, all axes are reduced, unless noop_with_empty_axes is
/// set: then `reduce` gets no axes and computes only its elementwise part. `size_op` is the op that joins two sizes.
Result<OnnxResults> import_reduction(OnnxNodeContext& node, std::int64_t operand_version, const Reduction& reduce,
                                     std::string_view size_op = "") {
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  MILLRACE_TRY_ASSIGN(const bool keep_dims, node.flag_attribute("keepdims", true));
  bool is_noop = false;
  if (node.version() >= operand_version) {
    MILLRACE_TRY_ASSIGN(is_noop, node.flag_attribute("noop_with_empty_axes", false));
  }
  MILLRACE_TRY_ASSIGN(std::optional<Axes> axes, read_axes(node, operand_version, type.shape.rank()));
  const bool has_axes = axes && !axes->empty();
  if (has_axes || !is_noop) {
    std::optional<OnnxSizes> sizes = reduce_sizes(node, size_op, keep_dims);
    if (sizes) return *std::move(sizes);
  }
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  if (!has_axes && is_noop) return reduce(x, {}, keep_dims);
  if (!has_axes) {
    axes.emplace(x.shape().rank());
    std::iota(axes->begin(), axes->end(), 0);
  }
  return reduce(x, *std::move(axes), keep_dims);
}

/// Makes a Reduction from a function on tensors that needs at least one axis.
template <class Function>
Reduction of(Function function) {
  return [function](Tensor x, Axes axes, bool keep_dims) {
    return axes.empty() ? x : function(x, std::move(axes), keep_dims);
  };
}
const Reduction kSum = of(reduce_sum);

}  // namespace

Result<OnnxResults> import_reduce_sum(OnnxNodeContext& node) {
  return import_reduction(node, 13, of(reduce_sum), "Add");
}
Result<OnnxResults> import_reduce_prod(OnnxNodeContext& node) {
  return import_reduction(node, 18, of(reduce_prod), "Mul");
}
Result<OnnxResults> import_reduce_mean(OnnxNodeContext& node) { return import_reduction(node, 18, of(reduce_mean)); }

Result<OnnxResults> import_reduce_max(OnnxNodeContext& node) {
  return import_reduction(node, 18, of([](Tensor x, Axes axes, bool keep_dims) {
                            return x.dtype() == DType::kBool ? reduce_any(x, axes, keep_dims)
                                                             : reduce_max(x, axes, keep_dims);
                          }),
                          "Max");
}

Result<OnnxResults> import_reduce_min(OnnxNodeContext& node) {
  return import_reduction(node, 18, of([](Tensor x, Axes axes, bool keep_dims) {
                            return x.dtype() == DType::kBool ? reduce_all(x, axes, keep_dims)
                                                             : reduce_min(x, axes, keep_dims);
                          }),
                          "Min");
}

Result<OnnxResults> import_reduce_l1(OnnxNodeContext& node) {
  return import_reduction(node, 18, [](Tensor x, Axes axes, bool keep_dims) { return kSum(abs(x), axes, keep_dims); });
}

Result<OnnxResults> import_reduce_l2(OnnxNodeContext& node) {
  return import_reduction(node, 18, [](Tensor x, Axes axes, bool keep_dims) {
    if (is_float(x.dtype())) return sqrt(kSum(x * x, axes, keep_dims));
    return cast(sqrt(kSum(cast(x * x, DType::kF64), axes, keep_dims)), x.dtype());
  });
}

Result<OnnxResults> import_reduce_sum_square(OnnxNodeContext& node) {
  return import_reduction(node, 18, [](Tensor x, Axes axes, bool keep_dims) { return kSum(x * x, axes, keep_dims); });
}

Result<OnnxResults> import_reduce_log_sum(OnnxNodeContext& node) {
  return import_reduction(node, 18, [](Tensor x, Axes axes, bool keep_dims) { return log(kSum(x, axes, keep_dims)); });
}

Result<OnnxResults> import_reduce_log_sum_exp(OnnxNodeContext& node) {
  return import_reduction(node, 18, of(logsumexp));
}

namespace {

/// Before version 13, softmax is over all dims from the axis on, and the default axis is 1.
Result<OnnxResults> import_softmax_by(OnnxNodeContext& node, Tensor (*function)(Tensor, std::int64_t)) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  const bool is_flat = node.version() < 13;
  if (!is_flat || x.shape().rank() == 0) {
    MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", x.shape().rank(), -1));
    return function(x, axis);
  }
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", x.shape().rank(), 1));
  if (axis + 1 == static_cast<std::int64_t>(x.shape().rank())) return function(x, axis);
  const auto dims = x.shape().dims().begin();
  std::vector<SizeExpr> flat(dims, dims + axis);
  flat.push_back(Shape(std::vector<SizeExpr>(dims + axis, x.shape().dims().end())).num_elements());
  return reshape(function(reshape(x, Shape(std::move(flat))), axis), x.shape());
}

}  // namespace

Result<OnnxResults> import_hardmax(OnnxNodeContext& node) { return import_softmax_by(node, hardmax); }
Result<OnnxResults> import_softmax(OnnxNodeContext& node) { return import_softmax_by(node, softmax); }
Result<OnnxResults> import_log_softmax(OnnxNodeContext& node) { return import_softmax_by(node, log_softmax); }

}  // namespace millrace
