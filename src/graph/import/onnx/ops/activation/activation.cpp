// SPDX-License-Identifier: Apache-2.0
// Imports activations, whose parameters are attributes.
#include <limits>

#include <fmt/format.h>

#include "graph/import/onnx/ops/elementwise.h"
#include "millrace/base/printable.h"

namespace millrace {

#define MILLRACE_ONNX_UNARY(name, since_version, function)
#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/activation.inc"
#undef MILLRACE_ONNX_UNARY
#undef MILLRACE_ONNX_OP

Result<OnnxResults> import_celu(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const double alpha, node.number_attribute("alpha", 1));
  return celu(x, alpha);
}

Result<OnnxResults> import_elu(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const double alpha, node.number_attribute("alpha", 1));
  return elu(x, alpha);
}

Result<OnnxResults> import_selu(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  const bool is_old = node.version() < 6;
  MILLRACE_TRY_ASSIGN(const double alpha, node.number_attribute("alpha", is_old ? 1.6732 : 1.67326319217681884765625));
  MILLRACE_TRY_ASSIGN(const double gamma, node.number_attribute("gamma", is_old ? 1.0507 : 1.05070102214813232421875));
  return selu(x, alpha, gamma);
}

Result<OnnxResults> import_gelu(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const std::string_view approximate, node.text_attribute("approximate", "none"));
  if (approximate == "tanh") return gelu_tanh(x);
  if (approximate == "none") return gelu(x);
  return node.attribute_error("approximate", fmt::format("found '{}', expected none or tanh", printable(approximate)));
}

Result<OnnxResults> import_hard_sigmoid(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const double alpha, node.number_attribute("alpha", 0.2));
  MILLRACE_TRY_ASSIGN(const double beta, node.number_attribute("beta", 0.5));
  return hard_sigmoid(x, alpha, beta);
}

/// The result for -inf is NaN, unlike that of the op hard_swish.
Result<OnnxResults> import_hard_swish(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  return x * hard_sigmoid(x, 1.0 / 6);
}

Result<OnnxResults> import_leaky_relu(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const double alpha, node.number_attribute("alpha", 0.01));
  return leaky_relu(x, alpha);
}

namespace {

/// The slope of PRelu, which broadcasts to x. Before version 7, it has one element, or one per channel.
Result<Tensor> read_slope(OnnxNodeContext& node, const TensorType& x) {
  MILLRACE_TRY_ASSIGN(const Tensor slope, node.tensor(1));
  if (node.version() >= 7) return slope;
  const Shape& shape = slope.shape();
  if (shape.num_elements().is(1)) return node.built(reshape(slope, {}));
  if (shape.rank() != 1 || x.shape.rank() < 2 || shape[0] != x.shape[1]) {
    return node.operand_error(
        1, fmt::format("is {}, expected one element, or one per channel of {}", slope.type().to_text(), x.to_text()));
  }
  std::vector<SizeExpr> dims(x.shape.rank() - 1, SizeExpr(1));
  dims[0] = shape[0];
  return node.built(reshape(slope, Shape(std::move(dims))));
}

}  // namespace

Result<OnnxResults> import_prelu(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor slope, read_slope(node, x.type()));
  if (is_float(x.dtype())) return leaky_relu(x, slope);
  const Tensor is_negative = less(x, 0);
  return where(is_negative, x * slope, x);
}

Result<OnnxResults> import_reciprocal(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  return 1.0 / x;
}

/// x + bias below -lambd, x - bias above lambd, otherwise 0.
Result<OnnxResults> import_shrink(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const double bias, node.number_attribute("bias", 0));
  MILLRACE_TRY_ASSIGN(const double limit, node.number_attribute("lambd", 0.5));
  if (!is_float(x.dtype())) return node.operand_error(0, fmt::format("is {}, expected floats", x.type().to_text()));
  const Tensor zero = node.graph().fill(x.dtype(), x.shape(), 0);
  const Tensor upper = select(greater(x, limit), x - bias, zero);
  const Tensor lower = x + bias;
  return select(less(x, -limit), lower, upper);
}

Result<OnnxResults> import_swish(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const double alpha, node.number_attribute("alpha", 1));
  return alpha == 1 ? silu(x) : x * sigmoid(x * alpha);
}

Result<OnnxResults> import_thresholded_relu(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const double alpha, node.number_attribute("alpha", 1));
  return where(greater(x, alpha), x, 0.0);
}

Result<OnnxResults> import_is_inf(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const bool finds_negative, node.flag_attribute("detect_negative", true));
  MILLRACE_TRY_ASSIGN(const bool finds_positive, node.flag_attribute("detect_positive", true));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (finds_negative && finds_positive) return is_inf(x);
  if (finds_positive) return equal(x, kInfinity);
  if (finds_negative) return equal(x, -kInfinity);
  return node.graph().fill(DType::kBool, x.shape(), 0);
}

namespace {

/// A limit of Clip as a scalar, even if a model gives it as a vector of one element.
Result<Tensor> read_limit(OnnxNodeContext& node, std::size_t operand) {
  MILLRACE_TRY_ASSIGN(const Tensor limit, node.tensor(operand));
  if (limit.shape().rank() == 0) return limit;
  if (limit.shape().num_elements().is(1)) return node.built(reshape(limit, {}));
  return node.operand_error(operand, fmt::format("is {}, expected a scalar", limit.type().to_text()));
}

/// The limited sizes, if all operands are sizes.
std::optional<OnnxSizes> clip_sizes(OnnxNodeContext& node) {
  if (!node.are_all_sizes()) return {};
  OnnxSizes sizes = *node.value(0).as_sizes();
  for (std::size_t i = 1; i < 3; ++i) {
    if (!node.has(i)) continue;
    const OnnxSizes limit = *node.value(i).as_sizes();
    if (limit.values.size() != 1 || limit.dtype != sizes.dtype || limit.divisor != sizes.divisor) return {};
    for (SizeExpr& size : sizes.values) size = i == 1 ? max(size, limit.values[0]) : min(size, limit.values[0]);
  }
  return sizes;
}

}  // namespace

/// Before version 11, the limits are attributes. An absent one is infinite before version 6, and the largest finite f32
/// from then on. If the lower limit is above the upper one, the upper one wins.
Result<OnnxResults> import_clip(OnnxNodeContext& node) {
  if (node.version() < 11) {
    MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
    double high =
        node.version() < 6 ? std::numeric_limits<double>::infinity() : double{std::numeric_limits<float>::max()};
    double low = -high;
    if (node.has_attribute("min")) {
      MILLRACE_TRY_ASSIGN(low, node.number_attribute("min"));
    }
    if (node.has_attribute("max")) {
      MILLRACE_TRY_ASSIGN(high, node.number_attribute("max"));
    }
    return clamp(x, low, high);
  }
  if (std::optional<OnnxSizes> sizes = clip_sizes(node)) return *std::move(sizes);
  MILLRACE_TRY_ASSIGN(Tensor x, node.tensor(0));
  if (node.has(1)) {
    MILLRACE_TRY_ASSIGN(const Tensor low, read_limit(node, 1));
    x = max(x, low);
  }
  if (node.has(2)) {
    MILLRACE_TRY_ASSIGN(const Tensor high, read_limit(node, 2));
    x = min(x, high);
  }
  return x;
}

}  // namespace millrace
