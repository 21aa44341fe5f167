// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise.h"

#include "millrace/ops/math-inl.h"
#include "ops/nest.h"

namespace millrace {
namespace ops {

Result<std::vector<KernelRequest>> build_elementwise(const OpInstance& node, BodyFunction body) {
  const TensorType& result = node.results[0];
  Nest nest("elementwise");
  nest.parallel_dims(result.shape);
  const std::vector<AffineIndex> point = nest.identity(result.shape.rank());
  std::vector<BodyValue> values;
  for (const TensorType& operand : node.operands) {
    values.push_back(nest.load(nest.epilogue(), nest.operand(operand), point));
  }
  const BodyValue value = body(nest.epilogue(), values, node.attributes);
  // The body has rounded f16 and bf16 already.
  nest.store(result, point, nest.epilogue().convert(body_dtype(value.dtype), value));
  return nest.finish();
}

namespace {
template <const DTypeSet& kSet>
InferResult infer_alike(Types operands) {
  MILLRACE_TRY(expect_alike(operands, kSet));
  return std::vector<TensorType>{operands[0]};
}
}  // namespace

InferResult infer_arithmetic(Types operands, const Attributes&) { return infer_alike<kArithmetic>(operands); }
InferResult infer_floats(Types operands, const Attributes&) { return infer_alike<kFloats>(operands); }
InferResult infer_integers(Types operands, const Attributes&) { return infer_alike<kIntegers>(operands); }

}  // namespace ops

using namespace ops;

OpDef define_add() {
  return elementwise<[](auto& b, auto x) { return b.add(x[0], x[1]); }>(infer_arithmetic);
}

OpDef define_sub() {
  return elementwise<[](auto& b, auto x) { return b.sub(x[0], x[1]); }>(infer_arithmetic);
}

OpDef define_mul() {
  return elementwise<[](auto& b, auto x) { return b.mul(x[0], x[1]); }>(infer_arithmetic);
}

OpDef define_div() {
  return elementwise<[](auto& b, auto x) { return b.div(x[0], x[1]); }>(infer_arithmetic);
}

OpDef define_rem() {
  return elementwise<[](auto& b, auto x) { return b.rem(x[0], x[1]); }>(infer_integers);
}

OpDef define_min() {
  return elementwise<[](auto& b, auto x) { return b.min(x[0], x[1]); }>(infer_arithmetic);
}

OpDef define_max() {
  return elementwise<[](auto& b, auto x) { return b.max(x[0], x[1]); }>(infer_arithmetic);
}

OpDef define_pow() {
  return elementwise<[](auto& b, auto x) { return math::pow(b, x[0], x[1]); }>(infer_floats);
}

OpDef define_neg() {
  return elementwise<[](auto& b, auto x) { return b.neg(x[0]); }>(infer_arithmetic);
}

OpDef define_abs() {
  return elementwise<[](auto& b, auto x) { return b.abs(x[0]); }>(infer_arithmetic);
}

/// Neither above nor below 0 are 0, -0 and NaN, which stay as they are.
OpDef define_sign() {
  return elementwise<[](auto& b, auto x) {
    const auto zero = b.constant_like(x[0], 0);
    const auto negative = b.select(b.lt(x[0], zero), b.constant_int(x[0].dtype, -1), x[0]);
    return b.select(b.gt(x[0], zero), b.constant_like(x[0], 1), negative);
  }>(infer_arithmetic);
}

OpDef define_exp() {
  return elementwise<[](auto& b, auto x) { return math::exp(b, x[0]); }>(infer_floats);
}

OpDef define_exp2() {
  return elementwise<[](auto& b, auto x) { return math::exp2(b, x[0]); }>(infer_floats);
}

OpDef define_log() {
  return elementwise<[](auto& b, auto x) { return math::log(b, x[0]); }>(infer_floats);
}

OpDef define_log2() {
  return elementwise<[](auto& b, auto x) { return math::log2(b, x[0]); }>(infer_floats);
}

OpDef define_expm1() {
  return elementwise<[](auto& b, auto x) { return math::expm1(b, x[0]); }>(infer_floats);
}

OpDef define_log1p() {
  return elementwise<[](auto& b, auto x) { return math::log1p(b, x[0]); }>(infer_floats);
}

OpDef define_sqrt() {
  return elementwise<[](auto& b, auto x) { return b.sqrt(x[0]); }>(infer_floats);
}

/// Both steps round, so in f32 and f64 it equals div(1, sqrt(x)) bit for bit on every target.
OpDef define_rsqrt() {
  return elementwise<[](auto& b, auto x) { return b.div(b.constant_like(x[0], 1), b.sqrt(x[0])); }>(infer_floats);
}

/// Source: Maas et al., Rectifier nonlinearities improve neural network acoustic models, ICML 2013; with a slope for
/// each element He et al., arXiv:1502.01852.
OpDef define_leaky_relu() {
  return elementwise<[](auto& b, auto x) {
    return b.select(b.lt(x[0], b.constant_like(x[0], 0)), b.mul(x[0], x[1]), x[0]);
  }>(infer_floats);
}

OpDef define_sin() {
  return elementwise<[](auto& b, auto x) { return math::sin(b, x[0]); }>(infer_floats);
}

OpDef define_cos() {
  return elementwise<[](auto& b, auto x) { return math::cos(b, x[0]); }>(infer_floats);
}

OpDef define_tan() {
  return elementwise<[](auto& b, auto x) { return math::tan(b, x[0]); }>(infer_floats);
}

OpDef define_atan2() {
  return elementwise<[](auto& b, auto x) { return math::atan2(b, x[0], x[1]); }>(infer_floats);
}

OpDef define_tanh() {
  return elementwise<[](auto& b, auto x) { return math::tanh(b, x[0]); }>(infer_floats);
}

OpDef define_sigmoid() {
  return elementwise<[](auto& b, auto x) { return math::sigmoid(b, x[0]); }>(infer_floats);
}

/// 0 from -3 down, of -inf too. Source: Howard et al., arXiv:1905.02244.
OpDef define_hard_swish() {
  return elementwise<[](auto& b, auto x) {
    const auto like = [&](double value) { return b.constant_like(x[0], value); };
    const auto raised = b.add(x[0], like(3));
    const auto gate = b.div(b.select(b.lt(raised, like(6)), raised, like(6)), like(6));
    return b.select(b.le(x[0], like(-3)), like(0), b.mul(x[0], gate));
  }>(infer_floats);
}

OpDef define_softplus() {
  return elementwise<[](auto& b, auto x) { return math::softplus(b, x[0]); }>(infer_floats);
}

OpDef define_erf() {
  return elementwise<[](auto& b, auto x) { return math::erf(b, x[0]); }>(infer_floats);
}

OpDef define_floor() {
  return elementwise<[](auto& b, auto x) { return b.floor(x[0]); }>(infer_floats);
}

OpDef define_ceil() {
  return elementwise<[](auto& b, auto x) { return b.ceil(x[0]); }>(infer_floats);
}

OpDef define_trunc() {
  return elementwise<[](auto& b, auto x) { return b.trunc(x[0]); }>(infer_floats);
}

OpDef define_round() {
  return elementwise<[](auto& b, auto x) { return b.round_even(x[0]); }>(infer_floats);
}

}  // namespace millrace
