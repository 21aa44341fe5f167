// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/status.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

// The index of a load or store along one dim of its tensor, written with the dims of a kernel's domain: `row * stride +
// tap - padding`. AffineIndex{} is index 0 at every point.
AffineIndex operator+(AffineIndex a, const AffineIndex& b);
AffineIndex operator+(AffineIndex index, const SizeExpr& elements);
AffineIndex operator-(AffineIndex index, const SizeExpr& elements);
AffineIndex operator*(AffineIndex index, const SizeExpr& factor);

/// An operand of the kernel under construction.
enum class OperandId : std::uint32_t {};
/// A value that a pass of the kernel under construction keeps for later passes.
enum class KeptId : std::uint32_t {};

struct LoadOptions {
  /// The value that the load gives if an index is outside the tensor (padding). Without it, every index must be inside.
  /// Precondition: its dtype is the body_dtype of the operand's dtype.
  std::optional<Scalar> fill = {};
  /// An i64 value of the body that is added to the index of the operand's dim `gather_dim`. Use
  /// BodyBuilder::check_index to keep it in range.
  std::optional<BodyValue> gather_index = {};
  std::uint32_t gather_dim = 0;
};

/// Builds a LoopKernel. An example, y[m] = max(0, sum over n of x[m, n] * w[n]):
///
///     LoopKernelBuilder kernel("weigh_rows");
///     const AffineIndex m = kernel.parallel("m", rows), n = kernel.reduction("n", columns);
///     const OperandId x = kernel.operand("x", {DType::kF32, {rows, columns}});
///     const OperandId w = kernel.operand("w", {DType::kF32, {columns}});
///     BodyBuilder& term = kernel.term();
///     const BodyValue element = kernel.load(term, x, {m, n});
///     const BodyValue sum = kernel.reduce(ReductionKind::kSum, term.mul(element, kernel.load(term, w, {n})));
///     BodyBuilder& epilogue = kernel.epilogue();
///     kernel.store("y", {DType::kF32, {rows}}, {m}, epilogue.max(sum, epilogue.constant_like(sum, 0)));
///     MILLRACE_TRY_ASSIGN(const LoopKernel built, kernel.finish());
///
/// A kernel without reductions computes everything in the epilogue. A kernel with several passes walks its rows again
/// with what earlier passes gave: y[m, n] = x[m, n] / sum over n of x[m, n] has, instead of the epilogue above,
///
///     BodyBuilder& scale = kernel.next_pass();
///     const BodyValue quotient = scale.div(kernel.load(scale, x, {m, n}), kernel.reduced(sum));
///     kernel.store_in_pass("y", {DType::kF32, {rows, columns}}, {m, n}, quotient);
///
/// Domain dims, operands, loads, reductions and results are numbered in the order of the calls. Wrong calls are
/// recorded; finish() returns an error for the first one. GraphBuilder::kernel makes such a kernel a node of a
/// graph; it adds the operands, and finishes the kernel itself.
class LoopKernelBuilder {
 public:
  explicit LoopKernelBuilder(std::string name) { kernel_.name = std::move(name); }

  /// Adds a dim to the domain, and returns the index that walks it. Parallel dims come before reductions.
  AffineIndex parallel(std::string name, SizeExpr extent);
  AffineIndex reduction(std::string name, SizeExpr extent);
  /// Adds a parallel dim. On CPUs, each of its indices is a separate workgroup.
  AffineIndex groups(std::string name, SizeExpr extent);
  /// Adds one parallel dim per dim of the shape: d0, d1, ...
  std::vector<AffineIndex> parallel_dims(const Shape& shape);

  /// Adds a tensor that the kernel reads; row-major unless a layout is given.
  OperandId operand(std::string name, TensorType type);
  OperandId operand(KernelTensor tensor);

  /// term(): the computation of the current pass at each point of the whole domain. epilogue(): the computation that
  /// follows at each point of the parallel dims.
  BodyBuilder& term() { return passes_.back().term; }
  BodyBuilder& epilogue() { return epilogue_; }
  /// Begins another pass over the points of the reduction dims, and returns its term.
  BodyBuilder& next_pass();

  /// The element of the operand at `indices`, one index per dim. `body` is the term of a pass or epilogue(); indices of
  /// the epilogue walk parallel dims only. Equal loads share one access.
  BodyValue load(BodyBuilder& body, OperandId operand, std::vector<AffineIndex> indices,
                 const LoadOptions& options = {});
  /// An index or a size, as an i64 of the body.
  BodyValue index(BodyBuilder& body, const AffineIndex& index);
  BodyValue extent(BodyBuilder& body, const SizeExpr& size);

  /// Reduces `value`, a value of the current term, over all reduction dims. Returns the result as a value of the
  /// epilogue: an i64 for kArgMin and kArgMax, otherwise of the value's dtype.
  BodyValue reduce(ReductionKind kind, BodyValue value);
  /// Keeps `value`, a value of the current term, for later passes. A generator may also compute it again.
  KeptId keep(BodyValue value);
  /// What an earlier pass gave, as a value of the current term: `result`, a result of reduce(), or a kept value at the
  /// same point.
  BodyValue reduced(BodyValue result);
  BodyValue kept(KeptId id);

  /// Adds a tensor that the kernel writes: `value`, a value of the epilogue, at `indices`, which walk every parallel
  /// dim and no other dim. The value's dtype must be the body_dtype of the tensor's dtype.
  void store(std::string name, TensorType type, std::vector<AffineIndex> indices, BodyValue value);
  void store(KernelTensor tensor, std::vector<AffineIndex> indices, BodyValue value);
  /// Adds a tensor that the current pass writes: `value`, a value of the current term, at `indices`, which walk every
  /// dim of the domain.
  void store_in_pass(std::string name, TensorType type, std::vector<AffineIndex> indices, BodyValue value);
  void store_in_pass(KernelTensor tensor, std::vector<AffineIndex> indices, BodyValue value);

  /// Returns the kernel, verified, or an error for the first wrong call: "loop kernel 'weigh_rows': store 'y': expected
  /// a value of the epilogue; reduce() gives one". Call it once, after everything else.
  Result<LoopKernel> finish();
  /// Like finish(), but does not verify the kernel, for lower_request() and plan_kernel(), which verify it themselves.
  Result<LoopKernel> finish_unverified();

 private:
  struct Pass {
    BodyBuilder term;
    std::vector<BodyValue> reduced, kept, stored;  // values of the term
  };

  AffineIndex add_dim(LoopDim dim);
  std::uint32_t current_pass() const { return static_cast<std::uint32_t>(passes_.size() - 1); }
  void add_result(KernelTensor tensor, std::vector<AffineIndex> indices, std::optional<std::uint32_t> pass);
  std::uint32_t access_number(Access access);
  BodyValue note_mistake(BodyBuilder& body, std::string text);

  LoopKernel kernel_;
  std::deque<Pass> passes_ = std::deque<Pass>(1);  // terms do not move when a pass is added
  std::vector<BodyValue> results_;                 // of reduce()
  BodyBuilder epilogue_;
  std::string mistake_;
  bool is_finished_ = false;
};

}  // namespace millrace
