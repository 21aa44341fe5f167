// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "millrace/jit/loop_kernel_builder.h"

namespace millrace::test {

/// c[m,n] = finish(nest, {m, n}, sum over k of a[m,k] * b[k,n]); f16 and bf16 are summed in f32.
template <class F>
LoopKernel matmul_nest(DType dtype, SizeExpr m, SizeExpr n, SizeExpr k, F&& finish) {
  LoopKernelBuilder nest("matmul");
  const AffineIndex row = nest.parallel("m", m), column = nest.parallel("n", n), inner = nest.reduction("k", k);
  BodyBuilder& term = nest.term();
  const BodyValue x = nest.load(term, nest.operand("a", {dtype, {m, k}}), {row, inner});
  const BodyValue y = nest.load(term, nest.operand("b", {dtype, {k, n}}), {inner, column});
  const BodyValue sum = nest.reduce(ReductionKind::kSum, term.mul(x, y));
  const std::vector<AffineIndex> point = {row, column};
  const BodyValue value = finish(nest, point, sum);
  nest.store("c", {dtype, {m, n}}, point, value);
  return nest.finish().value();
}

/// c[m,n] = sum over k of a[m,k] * b[k,n].
inline LoopKernel matmul_nest(SizeExpr m, SizeExpr n, SizeExpr k, DType dtype = DType::kF32) {
  return matmul_nest(dtype, std::move(m), std::move(n), std::move(k),
                     [](auto&, const auto&, BodyValue sum) { return sum; });
}

/// A matmul_nest whose sums are negated so often.
inline LoopKernel negated_matmul_nest(SizeExpr m, SizeExpr n, SizeExpr k, std::size_t num_negations) {
  return matmul_nest(DType::kF32, std::move(m), std::move(n), std::move(k),
                     [&](auto& nest, const auto&, BodyValue sum) {
                       for (std::size_t i = 0; i < num_negations; ++i) sum = nest.epilogue().neg(sum);
                       return sum;
                     });
}

/// y[m] = the reduction over k of x[m,k]; f16 and bf16 give f32.
inline LoopKernel row_reduction_nest(ReductionKind kind, SizeExpr m, SizeExpr k, DType dtype = DType::kF32) {
  LoopKernelBuilder nest{std::string(to_text(kind))};
  const AffineIndex row = nest.parallel("m", m), inner = nest.reduction("k", k);
  const BodyValue x = nest.load(nest.term(), nest.operand("x", {dtype, {m, k}}), {row, inner});
  const BodyValue reduced = nest.reduce(kind, x);
  nest.store("y", {reduced.dtype, {m}}, {row}, reduced);
  return nest.finish().value();
}

/// y[n,m] = x[m,n].
inline LoopKernel transpose_nest(DType dtype, SizeExpr m, SizeExpr n) {
  LoopKernelBuilder nest("transpose");
  const AffineIndex column = nest.parallel("n", n), row = nest.parallel("m", m);
  const BodyValue x = nest.load(nest.epilogue(), nest.operand("x", {dtype, {m, n}}), {row, column});
  nest.store("y", {dtype, {n, m}}, {column, row}, x);
  return nest.finish().value();
}

/// An elementwise map of one tensor of `shape`: y = f(b, x).
template <class F>
LoopKernel unary_nest(std::string name, DType from, DType to, const Shape& shape, F&& f) {
  LoopKernelBuilder nest(std::move(name));
  const std::vector<AffineIndex> point = nest.parallel_dims(shape);
  BodyBuilder& b = nest.epilogue();
  nest.store("y", {to, shape}, point, f(b, nest.load(b, nest.operand("x", {from, shape}), point)));
  return nest.finish().value();
}

}  // namespace millrace::test
