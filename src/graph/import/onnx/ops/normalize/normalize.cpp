// SPDX-License-Identifier: Apache-2.0
// Imports normalizations, for inference.
#include <numeric>

#include <fmt/format.h>

#include "graph/composites/composite.h"
#include "graph/import/onnx/node_context.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/normalize.inc"
#undef MILLRACE_ONNX_OP

namespace {

using Axes = std::vector<std::int64_t>;

/// A dtype that holds the elements of all the tensors.
DType common_dtype(std::span<const Tensor> tensors) {
  DType common = tensors[0].dtype();
  for (const Tensor& tensor : tensors) {
    if (tensor.dtype() == common) continue;
    common = tensor.dtype() == DType::kF64 || common == DType::kF64 ? DType::kF64 : DType::kF32;
  }
  return common;
}

Tensor to_dtype(Tensor x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }

/// The shape with the dims from `axis` on joined into one.
Shape join_dims(const Shape& shape, std::int64_t axis) {
  const auto first = shape.dims().begin() + axis;
  std::vector<SizeExpr> dims(shape.dims().begin(), first);
  dims.push_back(Shape(std::vector<SizeExpr>(first, shape.dims().end())).num_elements());
  return Shape(std::move(dims));
}

/// A scale or bias that broadcasts to x, reshaped so that it broadcasts to join_dims(x, axis).
Tensor join_parameter(Tensor parameter, const Shape& x, std::int64_t axis) {
  if (axis + 1 == static_cast<std::int64_t>(x.rank())) return parameter;
  const bool is_whole = parameter.shape().rank() + static_cast<std::size_t>(axis) > x.rank();
  const auto dims = x.dims().begin();
  const Shape normalized = is_whole ? x : Shape(std::vector<SizeExpr>(dims + axis, x.dims().end()));
  return reshape(broadcast_to(parameter, normalized), join_dims(normalized, is_whole ? axis : 0));
}

/// Mean and 1 / sqrt(variance + epsilon) over the dims from `axis` on, which keep extent 1.
Result<std::vector<Tensor>> build_statistics(OnnxNodeContext& node, Tensor x, std::int64_t axis, double epsilon,
                                             DType dtype) {
  Axes axes(x.shape().rank() - static_cast<std::size_t>(axis));
  std::iota(axes.begin(), axes.end(), axis);
  x = widen(x, x.dtype());
  MILLRACE_TRY_ASSIGN(const Tensor mean, node.built(reduce_mean(x, axes, true)));
  const Tensor centred = x - mean;
  const Tensor deviation = reduce_mean(centred * centred, axes, true);
  return std::vector{to_dtype(mean, dtype), cast(rsqrt(deviation + epsilon), dtype)};
}

}  // namespace

namespace {

/// Before version 7, nodes train unless the attribute is_test is 1.
Status refuse_old_training(OnnxNodeContext& node) {
  if (node.version() >= 7) return {};
  MILLRACE_TRY_ASSIGN(const bool is_test, node.flag_attribute("is_test", false));
  if (is_test) return {};
  return node.attribute_error("is_test", "found 0, expected 1: training is not supported");
}

}  // namespace

/// Refuses training, which updates running statistics, and statistics per element (a spatial attribute of 0).
Result<OnnxResults> import_batch_normalization(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const double epsilon, node.number_attribute("epsilon", 1e-5));
  node.ignore_attribute("momentum");
  MILLRACE_TRY(refuse_old_training(node));
  if (node.version() < 9) {
    MILLRACE_TRY_ASSIGN(const bool is_spatial, node.flag_attribute("spatial", true));
    if (!is_spatial) return node.attribute_error("spatial", "found 0, expected 1: statistics per channel");
  }
  if (node.version() >= 14) {
    MILLRACE_TRY_ASSIGN(const bool trains, node.flag_attribute("training_mode", false));
    if (trains) return node.attribute_error("training_mode", "found 1, expected 0: training is not supported");
  }
  MILLRACE_TRY_ASSIGN(std::vector<Tensor> operands, node.tensors());
  if (operands.size() != 5) return invalid_argument(fmt::format(": has {} operands, expected 5", operands.size()));
  const DType dtype = operands[0].dtype(), common = common_dtype(operands);
  for (Tensor& operand : operands) operand = to_dtype(operand, common);
  return to_dtype(batch_norm(operands[0], operands[3], operands[4], operands[1], operands[2], epsilon), dtype);
}

Result<OnnxResults> import_instance_normalization(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor scale, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const Tensor bias, node.tensor(2));
  MILLRACE_TRY_ASSIGN(const double epsilon, node.number_attribute("epsilon", 1e-5));
  return instance_norm(x, scale, bias, epsilon);
}

/// Before version 21, scale and bias are per group.
Result<OnnxResults> import_group_normalization(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(Tensor scale, node.tensor(1));
  MILLRACE_TRY_ASSIGN(Tensor bias, node.tensor(2));
  MILLRACE_TRY_ASSIGN(const double epsilon, node.number_attribute("epsilon", 1e-5));
  MILLRACE_TRY_ASSIGN(const std::int64_t groups, node.integer_attribute("num_groups"));
  if (node.version() >= 21) {
    node.ignore_attribute("stash_type");  // the precision of the statistics, which are in f32 at least
  } else if (groups > 0 && x.shape().rank() >= 2) {
    const SizeExpr channels = x.shape()[1];
    const auto to_channels = [&](Tensor parameter) {
      return reshape(broadcast(parameter, {groups, floor_div(channels, groups)}, {0}), {channels});
    };
    scale = to_channels(scale);
    bias = to_channels(bias);
  }
  return group_norm(x, groups, scale, bias, epsilon);
}

Result<OnnxResults> import_layer_normalization(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor scale, node.tensor(1));
  MILLRACE_TRY_ASSIGN(Tensor bias, node.optional_tensor(2));
  const Shape shape = x.shape();
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", shape.rank(), -1));
  MILLRACE_TRY_ASSIGN(const double epsilon, node.number_attribute("epsilon", 1e-5));
  MILLRACE_TRY_ASSIGN(const DType stash, node.dtype_attribute("stash_type", DType::kF32));
  if (bias.builder() == nullptr) bias = node.graph().fill(x.dtype(), {}, 0);
  const Tensor joined = join_parameter(scale, shape, axis);
  const Tensor normalized =
      layer_norm(reshape(x, join_dims(shape, axis)), joined, join_parameter(bias, shape, axis), epsilon);
  std::vector<Tensor> results = {reshape(normalized, shape)};
  if (node.wants(1) || node.wants(2)) {
    MILLRACE_TRY_ASSIGN(const std::vector<Tensor> statistics, build_statistics(node, x, axis, epsilon, stash));
    results.insert(results.end(), statistics.begin(), statistics.end());
  }
  return results;
}

/// The result has the dtype of the scale.
Result<OnnxResults> import_rms_normalization(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor scale, node.tensor(1));
  const Shape shape = x.shape();
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", shape.rank(), -1));
  MILLRACE_TRY_ASSIGN(const double epsilon, node.number_attribute("epsilon", 1e-5));
  node.ignore_attribute("stash_type");  // the precision of the mean, which is in f32 at least
  const DType dtype = scale.dtype(), common = common_dtype(std::vector{x, scale});
  const Tensor rows = reshape(to_dtype(x, common), join_dims(shape, axis));
  const Tensor normalized = rms_norm(rows, join_parameter(to_dtype(scale, common), shape, axis), epsilon);
  return to_dtype(reshape(normalized, shape), dtype);
}

Result<OnnxResults> import_lrn(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  LocalResponseAttributes attributes;
  MILLRACE_TRY_ASSIGN(attributes.size, node.integer_attribute("size"));
  MILLRACE_TRY_ASSIGN(attributes.alpha, node.number_attribute("alpha", 1e-4));
  MILLRACE_TRY_ASSIGN(attributes.beta, node.number_attribute("beta", 0.75));
  MILLRACE_TRY_ASSIGN(attributes.bias, node.number_attribute("bias", 1));
  return local_response_norm(x, attributes);
}

/// Rows of zeros stay zeros.
Result<OnnxResults> import_lp_normalization(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.axis_attribute("axis", x.shape().rank(), -1));
  MILLRACE_TRY_ASSIGN(const std::int64_t p, node.integer_attribute("p", 2));
  if (p != 1 && p != 2) return node.attribute_error("p", fmt::format("found {}, expected 1 or 2", p));
  const Tensor wide = widen(x, x.dtype());
  const Tensor sum = reduce_sum(p == 1 ? abs(wide) : wide * wide, {axis}, true);
  const Tensor norm = p == 1 ? sum : sqrt(sum);
  const Tensor is_zero = equal(norm, 0.0);
  return narrow(where(is_zero, 0.0, wide / norm), x.dtype());
}

/// (x - mean) / (deviation + 1e-9) over the axes. Subtracts the maximum first: the differences of equal elements are
/// exactly 0, whereas a rounded mean would differ from the elements by as much as the deviation.
Result<OnnxResults> import_mean_variance_normalization(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const std::optional<Axes> given, node.integers_attribute("axes"));
  const Axes axes = given.value_or(Axes{0, 2, 3});
  const Tensor wide = widen(x, x.dtype());
  const Tensor shifted = wide - reduce_max(wide, axes, true);
  const Tensor centred = shifted - reduce_mean(shifted, axes, true);
  const Tensor deviation = sqrt(reduce_mean(centred * centred, axes, true));
  return narrow(centred / (deviation + 1e-9), x.dtype());
}

/// The identity, except in training. From version 12 on, the second result is a mask of the elements that are kept.
Result<OnnxResults> import_dropout(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  if (node.version() < 12) {
    MILLRACE_TRY_ASSIGN(const double ratio, node.number_attribute("ratio", 0.5));
    if (ratio != 0) MILLRACE_TRY(refuse_old_training(node));
    if (node.version() < 7) node.ignore_attribute("is_test");  // with a ratio of 0, training drops nothing
    return node.value(0);
  }
  node.ignore_attribute("seed");
  node.ignore_operand(1);
  if (node.has(2)) {
    MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> known, node.known(2));
    if (!known) return node.operand_error(2, "is computed at run time, expected false: training is not supported");
    MILLRACE_TRY_ASSIGN(const double trains, node.number(2));
    double ratio = 0.5;
    if (trains != 0 && node.has(1)) {
      MILLRACE_TRY_ASSIGN(ratio, node.number(1));
    }
    if (trains != 0 && ratio != 0) return node.operand_error(2, "is true, expected false: training is not supported");
  }
  if (!node.wants(1)) return node.value(0);
  return OnnxResults{node.value(0), OnnxValue(node.graph().fill(DType::kBool, type.shape, 1))};
}

}  // namespace millrace
