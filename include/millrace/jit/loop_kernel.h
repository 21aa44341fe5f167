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

/// The structure of a kernel, as `classify` derives it. Generators use it to choose the kernels that they accept.
enum class LoopKind : std::uint8_t {
  kMap,       // no reduction
  kReduce,    // reductions of one operand's elements
  kContract,  // sum of products of two operands; every access is a plain strided one
  kRows,      // several passes over the reduction dims, such as softmax
};
inline constexpr LoopKind kLastLoopKind = LoopKind::kRows;

enum class ReductionKind : std::uint8_t { kSum, kProd, kMin, kMax, kArgMin, kArgMax };
inline constexpr ReductionKind kLastReductionKind = ReductionKind::kArgMax;
/// Whether the result is the index of a term, an i64.
constexpr bool returns_index(ReductionKind kind) {
  return kind == ReductionKind::kArgMin || kind == ReductionKind::kArgMax;
}

struct LoopDim {
  std::string name;  // "m", "k", "d0": for text only
  SizeExpr extent;
  bool is_reduction = false;      // reduction dims follow all parallel ones
  bool is_workgroup_dim = false;  // a parallel dim; each index is work for a separate workgroup
  friend bool operator==(const LoopDim&, const LoopDim&) = default;
};

/// A tensor argument: its logical type, and where its elements are in its buffer.
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

/// How a load or store accesses a tensor: one index per tensor dim, in logical coordinates.
struct Access {
  std::uint32_t tensor = 0;          // index of the operand (loads) or result (stores)
  std::vector<AffineIndex> indices;  // one per dim of that tensor
  /// For a gather: the tensor dim whose index is the load's operand plus the affine index.
  std::optional<std::uint32_t> dynamic_dim;
  /// For padding: the value that a load gives, without touching memory, if an index is outside the tensor's extents.
  /// Its dtype is the body_dtype of the tensor's dtype. If absent, every index of the domain must be inside.
  std::optional<Scalar> fill;
  /// For a store: the pass that stores at each of its points. If absent, the epilogue stores.
  std::optional<std::uint32_t> pass = {};
  friend bool operator==(const Access&, const Access&) = default;
};

/// One accumulator. 16-bit floats and f32 accumulate in f32, f64 in f64, integers in their own dtype (wrapping). Long
/// sums of floats are computed in levels: an accumulator adds at most 128 terms, or 512 products, and its sum is one
/// term of the next level. Empty reductions give: sum 0, prod 1, min the highest value (+inf), max the lowest value
/// (-inf). kArgMin and kArgMax give the i64 index along the one reduction dim: a NaN wins over any number, -0 equals
/// +0, of equal elements the first one wins, and an empty reduction gives 0.
struct Reduction {
  ReductionKind kind = ReductionKind::kSum;
  DType dtype = DType::kF32;  // of the accumulator and the yield; for kArgMin and kArgMax, of the compared values
  std::uint32_t pass = 0;
  friend bool operator==(const Reduction&, const Reduction&) = default;
};

/// A value that a pass computes at each of its points, for later passes at the same point. A generator may keep it in
/// memory or compute it again.
struct Temporary {
  DType dtype = DType::kF32;
  std::uint32_t pass = 0;
  friend bool operator==(const Temporary&, const Temporary&) = default;
};

/// A perfect loop nest over an index domain. For each point of the parallel dims, the passes run one after the other. A
/// pass runs its term for each point of the reduction dims. The term yields one value for each reduction of the pass,
/// then for each of its temporaries, then for each of its stores. It reads the reductions and temporaries of earlier
/// passes. After the last pass, `epilogue` yields one value for each other store. Most nests have one pass, and store
/// in the epilogue; a map has no pass. Softmax has three: the maximum of a row, the sum of exp(x - maximum), and the
/// stores. The nest has no vector widths, threads or address spaces. Stores are the only writes. Each result has one.
/// A store of the epilogue is at the parallel point, so its `coefficients` for reduction dims are 0.
struct LoopKernel {
  std::string name;
  std::vector<LoopDim> domain;
  std::vector<KernelTensor> operands;
  std::vector<KernelTensor> results;
  std::vector<Access> loads;
  std::vector<Access> stores;          // stores[i] writes to results[i]
  std::vector<Reduction> reductions;   // in the order of their passes
  std::vector<Temporary> temporaries;  // in the order of their passes
  std::vector<SizeExpr> extents;       // sizes that bodies compute with
  std::vector<Body> terms;             // one per pass
  Body epilogue;
  /// The operand that the only result replaces. Both share the result's buffer, which the kernel reads and writes.
  std::optional<std::uint32_t> in_place = {};

  std::size_t num_parallel() const;
  /// The numbers of the stores that a pass writes, or that the epilogue writes if `pass` is empty.
  std::vector<std::size_t> stores_of(std::optional<std::uint32_t> pass) const;
  friend bool operator==(const LoopKernel&, const LoopKernel&) = default;
};

LoopKind classify(const LoopKernel&);
std::string_view to_text(LoopKind);
std::string_view to_text(ReductionKind);

/// Checks these invariants, and those of bodies only if the rest holds. Fails with kInvalidArgument and one line per
/// failure.
/// * Parallel dims precede reduction dims. Reduction dims are not group dims, and exist only if there is a pass.
///   kArgMin and kArgMax have exactly one reduction dim.
/// * Reductions and temporaries are in the order of their passes, and belong to an existing pass. Each pass has a
///   reduction, a temporary or a store.
/// * Reductions accumulate in an integer, f32 or f64.
/// * Tensors have one stride per dim.
/// * Accesses name an existing tensor, with one index per tensor dim and one coefficient per domain dim. If the domain
///   and the extent are constant, an index without `fill` stays inside, unless it is dynamic.
/// * A load's dynamic dim exists, and its fill has the tensor's body_dtype.
/// * Store i writes result i, without dynamic dim or fill. It uses every parallel dim whose extent is not 1. A store of
///   the epilogue uses no reduction dim; a store of a pass uses every reduction dim whose extent is not 1.
/// * Only maps with one result are in place. The operand has the result's type and layout, and is read only at the
///   point at which the result is stored.
/// * A term yields one value per reduction and temporary of its pass, with its dtype, then one per store of the pass;
///   `epilogue` yields one per other store. Values to store have the result's body_dtype. Temporaries are not f16 or
///   bf16.
/// * Body instructions are not kMachine ops. Operands are defined before their use, and follow the op's rule in number
///   and dtypes. f16 and bf16 occur only as operand or result of kConvert.
/// * Every access, dim, extent, reduction and temporary that an instruction names exists. Loads give the tensor's
///   body_dtype. Index and extent instructions and the results of kArgMin and kArgMax give i64.
/// * `epilogue` uses no reduction dim, by index or load, and no temporary. A term uses only the reductions and
///   temporaries of earlier passes.
Status verify(const LoopKernel&);
/// Checks what verify() cannot know of kernels with symbolic sizes, for kernels that applications write: whatever the
/// sizes and the data, they access only their tensors, and write each element of each result exactly once. Fails with
/// kInvalidArgument and one line per failure, which names the access, its index and what would prove it.
/// * Extents of dims are known to be 0 or more.
/// * An index of a load without fill is known to be inside its dim. The numbers in other indices are below 2^31.
/// * A dynamic index without fill is the result of check_index with the extent of its dim, and nothing is added to it.
/// * The indices of a store count through its result: each dim of the points at which it runs has its own digits, as in
///   [m, n] or [m * 4 + n] with n below 4.
/// Precondition: verified.
Status verify_safe(const LoopKernel&);
/// The whole kernel as text, which parse_loop_kernel reads. Equal kernels have equal text. Without the names, this text
/// enters the cache key. Precondition: verified.
std::string to_text(const LoopKernel&);
/// Reads to_text, and text written by hand, in which the kind may be left out. Does not verify the kernel. A failure
/// gives the line and column, the text found and the text expected; `name` stands for the text in the message.
Result<LoopKernel> parse_loop_kernel(std::string_view text, std::string_view name = "loop kernel");

/// The number of floating-point operations of the nest. An arithmetic op on f32 or f64 counts as 1, mul_add as 2, and
/// each term that enters a reduction as 1, so a contraction has 2*k*m*n. Compares, selects and conversions count as 0.
SizeExpr count_flops(const LoopKernel&);

/// Returns the same nest with fewer dims, for generators that compute addresses. Tensors without fill or dynamic index
/// become rank 1, so that an access has one stride per dim; neighbouring dims that every access walks like a single dim
/// are merged; dims of extent 1 are dropped. Keeps the order of dims, operands, results, loads and stores.
LoopKernel collapse_dims(const LoopKernel&);

/// Runs the nest point by point on host scalars. This slow version defines the meaning of a LoopKernel. `data` points
/// to the operands, then the results. `symbols` must bind every symbol.
Status evaluate_loop_kernel(const LoopKernel&, std::span<void* const> data, const SymbolValues&);

}  // namespace millrace
