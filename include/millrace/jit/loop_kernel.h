// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/shape.h"
#include "millrace/jit/body.h"

namespace millrace {

/// What a kernel is at heart; generators choose by it. Derived from the structure by `classify`.
enum class LoopKind : std::uint8_t {
  kMap,       // no reduction
  kReduce,    // reductions of one operand's elements
  kContract,  // sum of products of two operands, every access a plain strided one
};

enum class ReductionKind : std::uint8_t { kSum, kProd, kMin, kMax, kArgMax };

struct LoopDim {
  std::string name;  // "m", "k", "d0": for text only
  SizeExpr extent;
  bool is_reduction = false;  // reduction dims come after all parallel ones
  friend bool operator==(const LoopDim&, const LoopDim&) = default;
};

/// A tensor argument: logical type and where its elements stand in its buffer.
struct KernelTensor {
  std::string name;
  TensorType type;
  Layout layout;
  friend bool operator==(const KernelTensor&, const KernelTensor&) = default;
};

/// offset + sum over domain dims of coefficients[d] * index_d.
struct AffineIndex {
  SizeExpr offset;
  std::vector<SizeExpr> coefficients;  // one per domain dim
  friend bool operator==(const AffineIndex&, const AffineIndex&) = default;
};

/// How one load or store walks a tensor: one index per tensor dim, in logical coordinates.
struct Access {
  std::uint32_t tensor = 0;          // operand number (loads), result number (stores)
  std::vector<AffineIndex> indices;  // one per dim of that tensor
  /// The tensor dim whose index is the load's operand (added to the affine one); gather.
  std::optional<std::uint32_t> dynamic_dim;
  /// When set, an index outside the tensor's extents gives this value and touches no memory (padding).
  /// When not set, every index of the domain is inside. Its dtype is body_dtype of the tensor's.
  std::optional<Scalar> fill;
  friend bool operator==(const Access&, const Access&) = default;
};

/// One accumulator. f32 and narrower floats accumulate in f32, f64 in f64, integers in their dtype (wrapping).
/// Empty reductions give: sum 0, prod 1, min the highest value (+inf), max the lowest (-inf).
/// kArgMax gives the i64 index along the one reduction dim; the first of equals; NaN is greatest; of nothing, 0.
struct Reduction {
  ReductionKind kind = ReductionKind::kSum;
  DType dtype = DType::kF32;  // of the accumulator and of the term's yield; kArgMax: of the values compared
  friend bool operator==(const Reduction&, const Reduction&) = default;
};

/// A perfect loop nest over an index domain. For each point of the parallel dims: for each point of the reduction dims,
/// `term` yields one value per reduction; then `epilogue` yields one value per store. A map has no reduction and an
/// empty `term`. No vector width, thread or address space. Stores are the only writes, one per result, at the parallel
/// point: `coefficients` of reduction dims are 0.
struct LoopKernel {
  std::string name;
  std::vector<LoopDim> domain;
  std::vector<KernelTensor> operands;
  std::vector<KernelTensor> results;
  std::vector<Access> loads;
  std::vector<Access> stores;  // stores[i] writes results[i] the i-th yield of the epilogue
  std::vector<Reduction> reductions;
  std::vector<SizeExpr> extents;  // sizes that bodies compute with
  Body term;
  Body epilogue;

  std::size_t num_parallel() const;
  friend bool operator==(const LoopKernel&, const LoopKernel&) = default;
};

LoopKind classify(const LoopKernel&);
std::string_view to_text(LoopKind);
std::string_view to_text(ReductionKind);

/// Every broken rule, one a line.
Status verify(const LoopKernel&);
/// The whole kernel, readable; equal kernels have equal text (names aside, this is the cache key's text).
std::string to_text(const LoopKernel&);

/// Floating-point operations of the whole nest: arithmetic on f32 and f64, a mul_add as two, and one for each
/// term that a reduction takes in; so 2*k*m*n for a contraction. Compares, selects and conversions are none.
SizeExpr count_flops(const LoopKernel&);

/// The same nest with fewer dims, for a generator that walks addresses: tensors without fill or dynamic index become
/// rank 1 (so an access has one stride per dim), neighbouring dims that all accesses walk as one merge, dims of extent
/// 1 go. Orders nothing anew; operands, results, loads and stores keep their numbers.
LoopKernel collapse_dims(const LoopKernel&);

/// Runs the nest point by point on host scalars: the definition of a LoopKernel's meaning, slow and plain.
/// Data pointers: operands then results; symbols must be bound.
Status evaluate_loop_kernel(const LoopKernel&, std::span<void* const> data, const SymbolValues&);

}  // namespace millrace
