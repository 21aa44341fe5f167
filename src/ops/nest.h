// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "millrace/ops/op_def.h"

namespace millrace::ops {

/// A step of an index: `coefficient` elements per point of domain dim `dim`.
struct Along {
  std::uint32_t dim = 0;
  SizeExpr coefficient = 1;
};

/// Builds a LoopKernel with row-major operands and results. First the dims (parallel ones before reductions), then
/// tensors, loads and stores.
class Nest {
 public:
  explicit Nest(std::string name) { kernel_.name = std::move(name); }

  std::uint32_t parallel(std::string name, SizeExpr extent);
  std::uint32_t reduction(std::string name, SizeExpr extent);
  /// One parallel dim per dim of the shape: d0, d1, ...
  void parallel_dims(const Shape& shape);

  /// Operand number i is the i-th call.
  std::uint32_t operand(const TensorType& type);
  AffineIndex index(std::initializer_list<Along> terms, SizeExpr offset = 0) const;
  AffineIndex along(std::uint32_t dim) const { return index({{dim}}); }
  /// Dim d of a tensor walked by domain dim d.
  std::vector<AffineIndex> identity(std::size_t rank) const;

  /// A size as an i64 of the body: a constant, or what a run binds.
  BodyValue extent(BodyBuilder& body, const SizeExpr& size);
  std::uint32_t add_load(Access access);
  /// Loads operand `operand` at `indices`, into the term or the epilogue.
  BodyValue load(BodyBuilder& body, std::uint32_t operand, std::vector<AffineIndex> indices,
                 std::optional<Scalar> fill = {});
  /// Adds a reduction of `value`, a term's value, and gives its result to the epilogue.
  BodyValue reduce(ReductionKind kind, BodyValue value);
  /// Stores `value` of the epilogue as the next result.
  void store(const TensorType& type, std::vector<AffineIndex> indices, BodyValue value);

  BodyBuilder& term() { return term_; }
  BodyBuilder& epilogue() { return epilogue_; }
  std::vector<KernelRequest> finish();

 private:
  LoopKernel kernel_;
  BodyBuilder term_;
  BodyBuilder epilogue_;
};

}  // namespace millrace::ops
