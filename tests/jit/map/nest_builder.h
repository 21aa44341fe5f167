// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "millrace/jit/loop_kernel.h"

namespace millrace::test {

/// One term of an affine index: coefficient of a domain dim.
struct Term {
  std::size_t dim = 0;
  SizeExpr coefficient = 1;
};

/// A LoopKernel written down step by step: dims first, then loads and stores by what each tensor axis walks.
class NestBuilder {
 public:
  explicit NestBuilder(std::string name) { kernel_.name = std::move(name); }

  NestBuilder& parallel(std::string name, SizeExpr extent) {
    kernel_.domain.push_back({std::move(name), std::move(extent), false});
    return *this;
  }
  NestBuilder& reduction(std::string name, SizeExpr extent) {
    kernel_.domain.push_back({std::move(name), std::move(extent), true});
    return *this;
  }

  AffineIndex index(std::initializer_list<Term> terms, SizeExpr offset = 0) const {
    AffineIndex result{std::move(offset), std::vector<SizeExpr>(kernel_.domain.size())};
    for (const Term& term : terms) result.coefficients[term.dim] = term.coefficient;
    return result;
  }
  /// The index that is one dim.
  AffineIndex dim(std::size_t d) const { return index({{d, 1}}); }

  /// Adds a row-major operand and one load of it; the number of both.
  std::uint32_t operand(std::string name, DType dtype, Shape shape, std::vector<AffineIndex> indices,
                        std::optional<Scalar> fill = {}) {
    Layout layout = Layout::row_major(shape);
    kernel_.operands.push_back({std::move(name), {dtype, std::move(shape)}, std::move(layout)});
    const auto number = static_cast<std::uint32_t>(kernel_.operands.size() - 1);
    kernel_.loads.push_back({number, std::move(indices), {}, fill});
    return static_cast<std::uint32_t>(kernel_.loads.size() - 1);
  }
  void result(std::string name, DType dtype, Shape shape, std::vector<AffineIndex> indices) {
    Layout layout = Layout::row_major(shape);
    kernel_.results.push_back({std::move(name), {dtype, std::move(shape)}, std::move(layout)});
    kernel_.stores.push_back({static_cast<std::uint32_t>(kernel_.results.size() - 1), std::move(indices), {}, {}});
  }
  void reduce(ReductionKind kind, DType dtype) { kernel_.reductions.push_back({kind, dtype}); }

  template <class F>
  void term(F&& body) {
    kernel_.term = record(body);
  }
  template <class F>
  void epilogue(F&& body) {
    kernel_.epilogue = record(body);
  }

  LoopKernel& kernel() { return kernel_; }

 private:
  template <class F>
  static Body record(F&& body) {
    BodyBuilder builder;
    body(builder);
    return builder.finish();
  }
  LoopKernel kernel_;
};

/// c[m,n] = sum over k of a[m,k] * b[k,n], f32.
inline LoopKernel matmul_nest(SizeExpr m, SizeExpr n, SizeExpr k) {
  NestBuilder nest("matmul");
  nest.parallel("m", m).parallel("n", n).reduction("k", k);
  nest.operand("a", DType::kF32, {m, k}, {nest.dim(0), nest.dim(2)});
  nest.operand("b", DType::kF32, {k, n}, {nest.dim(2), nest.dim(1)});
  nest.result("c", DType::kF32, {m, n}, {nest.dim(0), nest.dim(1)});
  nest.reduce(ReductionKind::kSum, DType::kF32);
  nest.term([](BodyBuilder& b) {
    const BodyValue x = b.load(0, DType::kF32);
    const BodyValue y = b.load(1, DType::kF32);
    b.yield(b.mul(x, y));
  });
  nest.epilogue([](BodyBuilder& b) { b.yield(b.reduced(0, DType::kF32)); });
  return nest.kernel();
}

/// A matmul_nest whose sums are negated so often.
inline LoopKernel negated_matmul_nest(SizeExpr m, SizeExpr n, SizeExpr k, std::size_t num_negations) {
  LoopKernel nest = matmul_nest(std::move(m), std::move(n), std::move(k));
  BodyBuilder b;
  BodyValue value = b.reduced(0, DType::kF32);
  for (std::size_t i = 0; i < num_negations; ++i) value = b.neg(value);
  b.yield(value);
  nest.epilogue = b.finish();
  return nest;
}

/// An elementwise map of one tensor of `shape`: y = f(b, x).
template <class F>
LoopKernel unary_nest(std::string name, DType from, DType to, const Shape& shape, F&& f) {
  NestBuilder nest(std::move(name));
  for (std::size_t d = 0; d < shape.rank(); ++d) nest.parallel("d" + std::to_string(d), shape[d]);
  std::vector<AffineIndex> point;
  for (std::size_t d = 0; d < shape.rank(); ++d) point.push_back(nest.dim(d));
  nest.operand("x", from, shape, point);
  nest.result("y", to, shape, point);
  nest.epilogue([&](BodyBuilder& b) { b.yield(f(b, b.load(0, body_dtype(from)))); });
  return nest.kernel();
}

}  // namespace millrace::test
