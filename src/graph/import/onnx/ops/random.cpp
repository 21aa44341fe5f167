// SPDX-License-Identifier: Apache-2.0
// Imports ops that draw random numbers. ONNX does not say which numbers a seed gives: ours come from Philox.
#include <bit>
#include <cstdint>
#include <numbers>

#include <fmt/format.h>

#include "graph/import/onnx/node_context.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/random.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// The attribute seed; without one, each node has its own. A graph has no other source of randomness, so each run draws
/// the same numbers.
Result<Tensor> read_seed(OnnxNodeContext& node) {
  std::uint64_t seed = std::uint64_t{1} << 32 | node.graph().graph().nodes.size();
  if (node.has_attribute("seed")) {
    MILLRACE_TRY_ASSIGN(const double given, node.number_attribute("seed"));
    seed = std::bit_cast<std::uint32_t>(static_cast<float>(given));
  } else {
    node.note("has no seed: every run draws the same numbers");
  }
  return node.graph().constant<std::uint64_t>({}, {seed});
}

/// Standard normal numbers in f32, by the method of Box and Muller.
Tensor normal_numbers(Tensor seed, const Shape& shape) {
  const SizeExpr count = shape.num_elements();
  const Tensor bits = random_bits(seed, {2, count});
  // Uniform in (0, 1) in steps of 2^-23, from 2^-24 on: f32 holds these exactly, and the logarithm is finite.
  const Tensor uniform = cast(bits / std::uint32_t{1 << 9}, DType::kF32) * 0x1p-23 + 0x1p-24;
  const Tensor radius = sqrt(log(slice(uniform, {0, 0}, {1, count})) * -2.0);
  const Tensor angle = slice(uniform, {1, 0}, {2, count}) * (2 * std::numbers::pi);
  return reshape(radius * cos(angle), shape);
}

/// Random numbers: normal with a mean and a scale, or uniform between low and high.
Result<OnnxResults> draw(OnnxNodeContext& node, bool is_normal, const Shape& shape, DType dtype) {
  if (!is_float(dtype)) {
    return unimplemented(fmt::format(": found elements of {}, expected floats", to_text(dtype)));
  }
  MILLRACE_TRY_ASSIGN(const double offset, node.number_attribute(is_normal ? "mean" : "low", 0));
  MILLRACE_TRY_ASSIGN(const double second, node.number_attribute(is_normal ? "scale" : "high", 1));
  MILLRACE_TRY_ASSIGN(const Tensor seed, read_seed(node));
  const Tensor plain = is_normal ? normal_numbers(seed, shape) : random_uniform(seed, shape);
  const double factor = is_normal ? second : second - offset;
  const DType wide = dtype == DType::kF64 ? dtype : DType::kF32;
  return cast(cast(plain, wide) * factor + offset, dtype);
}

Result<OnnxResults> draw_shape(OnnxNodeContext& node, bool is_normal) {
  MILLRACE_TRY_ASSIGN(const std::optional<std::vector<std::int64_t>> dims, node.integers_attribute("shape"));
  if (!dims) return node.attribute_error("shape", "is missing");
  MILLRACE_TRY_ASSIGN(const DType dtype, node.dtype_attribute("dtype", DType::kF32));
  return draw(node, is_normal, Shape(std::vector<SizeExpr>(dims->begin(), dims->end())), dtype);
}

Result<OnnxResults> draw_like(OnnxNodeContext& node, bool is_normal) {
  MILLRACE_TRY_ASSIGN(const TensorType like, node.type(0));
  MILLRACE_TRY_ASSIGN(const DType dtype, node.dtype_attribute("dtype", like.dtype));
  return draw(node, is_normal, like.shape, dtype);
}

}  // namespace

Result<OnnxResults> import_random_normal(OnnxNodeContext& node) { return draw_shape(node, true); }
Result<OnnxResults> import_random_normal_like(OnnxNodeContext& node) { return draw_like(node, true); }
Result<OnnxResults> import_random_uniform(OnnxNodeContext& node) { return draw_shape(node, false); }
Result<OnnxResults> import_random_uniform_like(OnnxNodeContext& node) { return draw_like(node, false); }

/// 1 where a uniform number is below the operand's probability.
Result<OnnxResults> import_bernoulli(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor probability, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const DType dtype, node.dtype_attribute("dtype", probability.dtype()));
  MILLRACE_TRY_ASSIGN(const Tensor seed, read_seed(node));
  const Tensor uniform = random_uniform(seed, probability.shape());
  return cast(less(uniform, cast(probability, DType::kF32)), dtype);
}

Result<OnnxResults> import_multinomial(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor logits, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const std::int64_t num_samples, node.integer_attribute("sample_size", 1));
  MILLRACE_TRY_ASSIGN(const DType dtype, node.dtype_attribute("dtype", DType::kI32));
  MILLRACE_TRY_ASSIGN(const Tensor seed, read_seed(node));
  return cast(multinomial(logits, seed, num_samples), dtype);
}

}  // namespace millrace
