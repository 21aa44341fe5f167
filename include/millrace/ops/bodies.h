// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/atan2.h"
#include "millrace/ops/math/erf.h"
#include "millrace/ops/math/exp.h"
#include "millrace/ops/math/exp2.h"
#include "millrace/ops/math/expm1.h"
#include "millrace/ops/math/log.h"
#include "millrace/ops/math/log1p.h"
#include "millrace/ops/math/log2.h"
#include "millrace/ops/math/pow.h"
#include "millrace/ops/math/rem.h"
#include "millrace/ops/math/sigmoid.h"
#include "millrace/ops/math/sin_cos.h"
#include "millrace/ops/math/softplus.h"
#include "millrace/ops/math/tan.h"
#include "millrace/ops/math/tanh.h"

namespace millrace::bodies {

// The bodies of the elementwise ops without attributes, as templates over a builder (jit/body.h). op_table.inc says
// what each op means. Applications build their own kernels from them:
//
//     struct Swish {
//       static auto emit(auto& b, auto x) { return b.mul(x[0], bodies::sigmoid(b, x[0])); }
//     };
//
// All operands have the op's dtype, except that f16 and bf16 operands are passed as f32. ops/math/ states the range,
// special values and largest error of each elementary function, as measured by tests/ops/math_test.cpp with mul_add
// fused and unfused.

using math::atan2;
using math::cos;
using math::erf;
using math::exp;
using math::exp2;
using math::expm1;
using math::log;
using math::log1p;
using math::log2;
using math::pow;
using math::rem;
using math::sigmoid;
using math::sin;
using math::softplus;
using math::tan;
using math::tanh;

// Ops that are a single builder instruction.
#define MILLRACE_BODY_1(name, builder_name)           \
  template <class B>                                  \
  typename B::Value name(B& b, typename B::Value x) { \
    return b.builder_name(x);                         \
  }
#define MILLRACE_BODY_2(name, builder_name)                                \
  template <class B>                                                       \
  typename B::Value name(B& b, typename B::Value x, typename B::Value y) { \
    return b.builder_name(x, y);                                           \
  }
MILLRACE_BODY_2(add, add)
MILLRACE_BODY_2(sub, sub)
MILLRACE_BODY_2(mul, mul)
MILLRACE_BODY_2(div, div)
MILLRACE_BODY_2(min, min)
MILLRACE_BODY_2(max, max)
MILLRACE_BODY_1(neg, neg)
MILLRACE_BODY_1(abs, abs)
MILLRACE_BODY_1(sqrt, sqrt)
MILLRACE_BODY_1(floor, floor)
MILLRACE_BODY_1(ceil, ceil)
MILLRACE_BODY_1(trunc, trunc)
MILLRACE_BODY_1(round, round_even)
MILLRACE_BODY_2(equal, eq)
MILLRACE_BODY_2(not_equal, ne)
MILLRACE_BODY_2(less, lt)
MILLRACE_BODY_2(less_equal, le)
MILLRACE_BODY_2(greater, gt)
MILLRACE_BODY_2(greater_equal, ge)
MILLRACE_BODY_2(logical_and, bit_and)
MILLRACE_BODY_2(logical_or, bit_or)
MILLRACE_BODY_2(logical_xor, bit_xor)
#undef MILLRACE_BODY_1
#undef MILLRACE_BODY_2

/// 0, -0 and NaN are neither above nor below 0, and stay as they are.
template <class B>
typename B::Value sign(B& b, typename B::Value x) {
  const auto zero = b.constant_like(x, 0);
  const auto negative = b.select(b.lt(x, zero), b.constant_int(x.dtype, -1), x);
  return b.select(b.gt(x, zero), b.constant_like(x, 1), negative);
}

/// Computed in two steps that are each correctly rounded, instead of by one approximate instruction. In f32 and f64,
/// the result therefore equals div(1, sqrt(x)) bit for bit on every target.
template <class B>
typename B::Value rsqrt(B& b, typename B::Value x) {
  return b.div(b.constant_like(x, 1), b.sqrt(x));
}

/// Source: Maas et al., Rectifier nonlinearities improve neural network acoustic models, ICML 2013; with one slope per
/// element: He et al., arXiv:1502.01852.
template <class B>
typename B::Value leaky_relu(B& b, typename B::Value x, typename B::Value slope) {
  return b.select(b.lt(x, b.constant_like(x, 0)), b.mul(x, slope), x);
}

/// 0 for x <= -3 and for -inf. Error: at most 2 ulp.
/// Source: Howard et al., arXiv:1905.02244.
template <class B>
typename B::Value hard_swish(B& b, typename B::Value x) {
  const auto like = [&](double value) { return b.constant_like(x, value); };
  const auto raised = b.add(x, like(3));
  const auto gate = b.div(b.select(b.lt(raised, like(6)), raised, like(6)), like(6));
  return b.select(b.le(x, like(-3)), like(0), b.mul(x, gate));
}

template <class B>
typename B::Value is_nan(B& b, typename B::Value x) {
  return b.ne(x, x);
}

template <class B>
typename B::Value logical_not(B& b, typename B::Value x) {
  return b.bit_xor(x, b.constant_int(x.dtype, x.dtype == DType::kBool ? 1 : -1));
}

}  // namespace millrace::bodies
