// SPDX-License-Identifier: Apache-2.0
// Imports losses.
#include <numeric>

#include <fmt/format.h>

#include "graph/composites/composite.h"
#include "graph/import/onnx/node_context.h"
#include "millrace/base/printable.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/normalize.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// The loss of each target, and the weight that it has in a mean; an empty weight counts as 1.
struct Losses {
  Tensor loss, weight;
};

/// Minus the weighted logarithm of the probability of the target's class. An ignored target has loss and weight 0.
Result<Losses> build_losses(OnnxNodeContext& node, Tensor log_probability, DType dtype) {
  MILLRACE_TRY_ASSIGN(const Tensor given, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const Tensor weights, node.optional_tensor(2));
  const bool has_weights = weights.builder() != nullptr, ignores = node.has_attribute("ignore_index");
  Tensor target = cast(given, DType::kI64), is_ignored;
  if (ignores) {
    MILLRACE_TRY_ASSIGN(const std::int64_t ignored, node.integer_attribute("ignore_index"));
    is_ignored = equal(target, ignored);
    target = select(is_ignored, 0, target);
  }
  const Tensor picked = squeeze(take_along_axis(log_probability, unsqueeze(target, {1}), 1), {1});
  Losses losses{-picked, {}};
  if (has_weights) losses.weight = gather(widen(weights, dtype), target, 0);
  if (has_weights) losses.loss = losses.loss * losses.weight;
  if (!ignores) return losses;
  MILLRACE_TRY_ASSIGN(losses.loss, node.built(losses.loss));
  if (!has_weights) losses.weight = node.graph().fill(losses.loss.dtype(), losses.loss.shape(), 1);
  losses.loss = select(is_ignored, 0.0, losses.loss);
  losses.weight = select(is_ignored, 0.0, losses.weight);
  return losses;
}

/// The loss for log_probability[n, c, ...] with operands and attributes that both losses share.
Result<Tensor> build_loss(OnnxNodeContext& node, Tensor log_probability, DType dtype) {
  MILLRACE_TRY_ASSIGN(const std::string_view reduction, node.text_attribute("reduction", "mean"));
  if (reduction != "none" && reduction != "sum" && reduction != "mean") {
    return node.attribute_error("reduction",
                                fmt::format("found '{}', expected none, sum or mean", printable(reduction)));
  }
  MILLRACE_TRY_ASSIGN(const Losses losses, build_losses(node, log_probability, dtype));
  if (reduction == "none") return narrow(losses.loss, dtype);
  MILLRACE_TRY_ASSIGN(const Tensor loss, node.built(losses.loss));
  std::vector<std::int64_t> axes(loss.shape().rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (reduction == "sum") return narrow(reduce_sum(loss, axes), dtype);
  if (losses.weight.builder() == nullptr) return narrow(reduce_mean(loss, axes), dtype);
  const Tensor sum = reduce_sum(loss, axes);
  return narrow(sum / reduce_sum(losses.weight, axes), dtype);
}

/// The first operand, in f32 if its elements have 16 bits.
Result<Tensor> read_scores(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  if (x.shape().rank() >= 2) return widen(x, x.dtype());
  return node.operand_error(0, fmt::format("is {}, expected classes in dim 1", x.type().to_text()));
}

}  // namespace

Result<OnnxResults> import_negative_log_likelihood_loss(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  MILLRACE_TRY_ASSIGN(const Tensor x, read_scores(node));
  MILLRACE_TRY_ASSIGN(const Tensor loss, build_loss(node, x, type.dtype));
  return loss;
}

/// The second result is the logarithm of the probabilities.
Result<OnnxResults> import_softmax_cross_entropy_loss(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(0));
  MILLRACE_TRY_ASSIGN(const Tensor x, read_scores(node));
  MILLRACE_TRY_ASSIGN(const Tensor log_probability, node.built(log_softmax(x, 1)));
  MILLRACE_TRY_ASSIGN(const Tensor loss, build_loss(node, log_probability, type.dtype));
  return std::vector{loss, narrow(log_probability, type.dtype)};
}

}  // namespace millrace
