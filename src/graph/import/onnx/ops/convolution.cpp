// SPDX-License-Identifier: Apache-2.0
// Imports products of matrices, convolutions, and global pools, which are means and maxima of whole images.
#include <algorithm>

#include <fmt/format.h>

#include "graph/import/onnx/ops/image/unfold.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/matrix.inc"
#undef MILLRACE_ONNX_OP

Result<OnnxResults> import_matmul(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor y, node.tensor(1));
  return matmul(x, y);
}

namespace {

/// Before version 7, c must have the dims of the product unless the attribute `broadcast` is 1.
Status check_old_sum(OnnxNodeContext& node, const Tensor& product, const Tensor& c) {
  if (node.version() >= 7) return {};
  MILLRACE_TRY_ASSIGN(const bool broadcasts, node.flag_attribute("broadcast", false));
  if (broadcasts || c.shape() == product.shape()) return {};
  return node.operand_error(2, fmt::format("is {}, expected the dims of the product, {}, without the attribute "
                                           "'broadcast'",
                                           c.type().to_text(), product.type().to_text()));
}

}  // namespace

/// alpha * x * y + beta * c, each matrix transposed on request. For integers, alpha and beta must be whole numbers.
Result<OnnxResults> import_gemm(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(Tensor y, node.tensor(1));
  MILLRACE_TRY_ASSIGN(Tensor c, node.optional_tensor(2));
  MILLRACE_TRY_ASSIGN(const double alpha, node.number_attribute("alpha", 1));
  MILLRACE_TRY_ASSIGN(const double beta, node.number_attribute("beta", 1));
  MILLRACE_TRY_ASSIGN(const bool transposes_x, node.flag_attribute("transA", false));
  MILLRACE_TRY_ASSIGN(const bool transposes_y, node.flag_attribute("transB", false));
  for (std::size_t i = 0; i < 2; ++i) {
    const Shape& shape = (i == 0 ? x : y).shape();
    if (shape.rank() != 2) return node.operand_error(i, fmt::format("is {}, expected a matrix", shape.to_text()));
  }
  if (transposes_x) x = transpose(x, {1, 0});
  if (transposes_y) y = transpose(y, {1, 0});
  const auto scaled = [](Tensor tensor, double factor) {
    if (factor == 1) return tensor;
    if (is_float(tensor.dtype())) return tensor * factor;
    return tensor * static_cast<std::int64_t>(factor);
  };
  const auto is_whole = [](double factor) { return std::fabs(factor) < 0x1p53 && factor == std::trunc(factor); };
  if (!is_float(x.dtype()) && !(is_whole(alpha) && is_whole(beta))) {
    return unimplemented(
        fmt::format(": scales {} by {} and {}, expected whole numbers", to_text(x.dtype()), alpha, beta));
  }
  MILLRACE_TRY_ASSIGN(const Tensor product, node.built(scaled(matmul(x, y), alpha)));
  if (c.builder() == nullptr) return product;
  MILLRACE_TRY(check_old_sum(node, product, c));
  return product + scaled(c, beta);
}

Result<OnnxResults> import_conv(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor weights, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const Tensor bias, node.optional_tensor(2));
  if (x.shape().rank() < 3 || x.shape().rank() >= kMaxRank) {
    return node.operand_error(0, fmt::format("has rank {}, expected 3 to {}", x.shape().rank(), kMaxRank - 1));
  }
  if (weights.shape().rank() != x.shape().rank()) {
    return node.operand_error(1, fmt::format("has rank {}, expected {}", weights.shape().rank(), x.shape().rank()));
  }
  std::vector<std::int64_t> kernel;
  for (std::size_t d = 2; d < weights.shape().rank(); ++d) {
    if (!weights.shape()[d].is_constant()) {
      return node.operand_error(1, fmt::format("is {}, expected windows of known size", weights.type().to_text()));
    }
    kernel.push_back(weights.shape()[d].constant());
  }
  MILLRACE_TRY_ASSIGN(const OnnxWindow window, read_window(node, x.shape(), std::move(kernel)));
  MILLRACE_TRY_ASSIGN(const std::int64_t groups, node.integer_attribute("group", 1));
  MILLRACE_TRY_ASSIGN(const Tensor result, node.built(convolve(x, weights, window, groups)));
  return bias.builder() == nullptr ? result : add_channels(result, bias);
}

Result<OnnxResults> import_global_average_pool(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  return global_avg_pool(x);
}

Result<OnnxResults> import_global_max_pool(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  return global_max_pool(x);
}

}  // namespace millrace
