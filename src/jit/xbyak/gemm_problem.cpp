// SPDX-License-Identifier: Apache-2.0
// Recognises the loop nests that are products of f32 matrices, and their operands and epilogue.
#include "jit/xbyak/gemm_problem.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "hal/host/routines/gemm/gemm_f32.h"

namespace millrace {
namespace {

/// The maximum stride, in elements. The code reaches a tile's rows and steps of k by displacements, so 64 strides must
/// stay below 2^31 bytes.
constexpr std::int64_t kMaxStride = (std::int64_t{1} << 23) - 1;
/// The minimum number of rows for transposing B: the copy costs about as much as multiplying this many rows by B.
constexpr std::int64_t kMinRowsToTranspose = 4;

/// A buffer's offset, and its stride along each domain dim, in elements.
struct Walk {
  std::uint32_t buffer = 0;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};

class GemmMatcher {
 public:
  explicit GemmMatcher(const LoopKernel& kernel) : kernel_(kernel) {}

  Result<GemmProblem> run() {
    MILLRACE_TRY(check_domain());
    MILLRACE_TRY(read_term());
    MILLRACE_TRY(read_epilogue());
    MILLRACE_TRY(assign_dims());
    MILLRACE_TRY(fill_problem());
    MILLRACE_TRY(check_problem());
    return std::move(problem_);
  }

 private:
  Status check_domain() {
    if (classify(kernel_) != LoopKind::kContract) {
      return unimplemented(
          fmt::format("a {} nest, expected a contraction, argmin or argmax", to_text(classify(kernel_))));
    }
    for (std::size_t d = 0; d < kernel_.domain.size(); ++d) {
      const SizeExpr& extent = kernel_.domain[d].extent;
      if (!extent.is_constant()) {
        return unimplemented(
            fmt::format("dim {} has the symbolic extent {}, expected a static one", dim_text(d), extent.to_text()));
      }
      extents_.push_back(extent.constant());
      problem_.is_empty |= extents_.back() == 0 && !kernel_.domain[d].is_reduction;
      if (!kernel_.domain[d].is_reduction) continue;
      if (k_) {
        return unimplemented(fmt::format("dims {} and {} are both summed over and do not collapse, expected one",
                                         dim_text(*k_), dim_text(d)));
      }
      k_ = d;
    }
    return {};
  }

  /// Reads the two factors of the term. classify() has checked that it is a product of two loads.
  Status read_term() {
    if (kernel_.reductions[0].dtype != DType::kF32) {
      return unimplemented(fmt::format("sums in {}, expected f32", to_text(kernel_.reductions[0].dtype)));
    }
    const auto& code = kernel_.terms[0].instructions;
    const BodyInstruction& product = code[kernel_.terms[0].yields[0]];
    const auto load = [&](int operand) { return kernel_.loads[code[product.operands[operand]].immediate]; };
    MILLRACE_TRY_ASSIGN(a_, walk_of(load(0), false));
    MILLRACE_TRY_ASSIGN(b_, walk_of(load(1), false));
    return {};
  }

  Status read_epilogue() {
    problem_.load_slot.assign(kernel_.loads.size(), 0);
    std::vector<bool> is_read(kernel_.loads.size());
    for (const BodyInstruction& instruction : kernel_.epilogue.instructions) {
      if (instruction.op != KernelOp::kLoad || is_read[instruction.immediate]) continue;
      is_read[instruction.immediate] = true;
      problem_.load_slot[instruction.immediate] = static_cast<std::uint32_t>(loads_.size());
      MILLRACE_TRY_ASSIGN(loads_.emplace_back(), walk_of(kernel_.loads[instruction.immediate], false));
    }
    for (const Access& store : kernel_.stores) {
      MILLRACE_TRY_ASSIGN(stores_.emplace_back(), walk_of(store, true));
    }
    if (loads_.size() + stores_.size() > kMaxGemmAccesses) {
      return unimplemented(fmt::format("the epilogue has {} loads and stores, expected at most {}",
                                       loads_.size() + stores_.size(), kMaxGemmAccesses));
    }
    return {};
  }

  Result<Walk> walk_of(const Access& access, bool is_store) const {
    const KernelTensor& tensor = is_store ? kernel_.results[access.tensor] : kernel_.operands[access.tensor];
    const auto refuse = [&](std::string_view what) {
      return unimplemented(fmt::format("{} '{}' {}", is_store ? "result" : "operand", tensor.name, what));
    };
    if (tensor.type.dtype != DType::kF32) {
      return refuse(fmt::format("is {}, expected f32", to_text(tensor.type.dtype)));
    }
    if (access.dynamic_dim) return refuse("is gathered, expected a plain load");
    if (access.fill) return refuse("is padded while loading, expected a plain load");
    Walk walk;
    walk.buffer = access.tensor + (is_store ? static_cast<std::uint32_t>(kernel_.operands.size()) : 0);
    SizeExpr offset = tensor.layout.offset;
    std::vector<SizeExpr> strides(kernel_.domain.size());
    for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
      const SizeExpr& step = tensor.layout.strides[axis];
      offset = offset + access.indices[axis].offset * step;
      for (std::size_t d = 0; d < strides.size(); ++d) {
        strides[d] = strides[d] + access.indices[axis].coefficients[d] * step;
      }
    }
    if (!offset.is_constant()) return refuse(fmt::format("starts at the symbolic element {}", offset.to_text()));
    walk.offset = offset.constant();
    for (const SizeExpr& stride : strides) {
      if (!stride.is_constant()) return refuse(fmt::format("has the symbolic stride {}", stride.to_text()));
      walk.strides.push_back(stride.constant());
    }
    return walk;
  }

  /// Chooses the rows: the longest dim along which only A has a nonzero stride. Each remaining parallel dim becomes a
  /// batch dim, a loop around products.
  Status assign_dims() {
    if (!find_columns()) {
      return unimplemented(
          "the result has no dim with unit stride on which exactly one factor depends, expected one for the columns");
    }
    for (std::size_t d = 0; d < kernel_.num_parallel(); ++d) {
      if (d == *n_ || a_.strides[d] == 0 || b_.strides[d] != 0) continue;
      if (!m_ || extents_[d] > extents_[*m_]) m_ = d;
    }
    for (const bool b_moves : {true, false}) {
      for (std::size_t d = 0; d < kernel_.num_parallel(); ++d) {
        if (d == *n_ || d == m_ || (b_.strides[d] != 0) != b_moves) continue;
        batch_.push_back(d);
        problem_.num_outer_batch += b_moves;
      }
    }
    if (batch_.size() > kMaxGemmBatch) {
      return unimplemented(
          fmt::format("{} batch dims that do not collapse, expected at most {}", batch_.size(), kMaxGemmBatch));
    }
    return {};
  }

  /// Chooses the columns: a dim along which results are contiguous and exactly one factor has a nonzero stride. That
  /// factor becomes B. If the sum is empty, the factors are not read, so any dim along which results are contiguous
  /// will do.
  bool find_columns() {
    const bool sums_nothing = k_ && extents_[*k_] == 0;
    for (std::size_t d = 0; d < kernel_.num_parallel(); ++d) {
      if (stores_[0].strides[d] != 1) continue;
      if ((a_.strides[d] != 0) == (b_.strides[d] != 0) && !sums_nothing) continue;
      if (a_.strides[d] != 0) std::swap(a_, b_);
      n_ = d;
      return true;
    }
    return false;
  }

  Status fill_problem() {
    const auto extent = [&](const std::optional<std::size_t>& d) { return d ? extents_[*d] : 1; };
    problem_.m = std::max<std::int64_t>(extent(m_), 1);
    problem_.n = std::max<std::int64_t>(extent(n_), 1);
    problem_.k = extent(k_);
    for (const std::size_t d : batch_) problem_.batch_extents.push_back(std::max<std::int64_t>(extents_[d], 1));
    problem_.a = access_of(a_);
    problem_.b = access_of(b_);
    if (problem_.k == 0) {
      // Nothing is read, so compute no addresses from pointers that may be null.
      for (GemmAccess* access : {&problem_.a, &problem_.b}) {
        *access = {access->buffer, 0, 0, 1, 0, std::vector<std::int64_t>(batch_.size())};
      }
    }
    for (const Walk& walk : loads_) problem_.loads.push_back(access_of(walk));
    for (const Walk& walk : stores_) problem_.stores.push_back(access_of(walk));
    return {};
  }

  GemmAccess access_of(const Walk& walk) const {
    GemmAccess access{
        walk.buffer, walk.offset, m_ ? walk.strides[*m_] : 0, walk.strides[*n_], k_ ? walk.strides[*k_] : 0, {}};
    for (const std::size_t d : batch_) access.batch.push_back(walk.strides[d]);
    return access;
  }

  Status check_problem() const {
    if (problem_.k > kMaxGemmDepth) {
      return unimplemented(fmt::format("a sum of {} products, expected at most {}", problem_.k, kMaxGemmDepth));
    }
    const GemmAccess& b = problem_.b;
    if (b.n != 1 && b.k != 1) {
      return unimplemented(
          fmt::format("operand '{}' has strides {} along columns and {} along the sum, expected 1 for one of them",
                      kernel_.operands[b.buffer].name, b.n, b.k));
    }
    if (b.n != 1 && problem_.m < kMinRowsToTranspose) {
      return unimplemented(
          fmt::format("{} row(s) by a matrix that is contiguous along the sum: transposing it costs "
                      "more than it gains below {} rows",
                      problem_.m, kMinRowsToTranspose));
    }
    for (const GemmAccess& load : problem_.loads) {
      if (load.n == 0 || load.n == 1) continue;
      return unimplemented(fmt::format("operand '{}' of the epilogue has stride {} along columns, expected 0 or 1",
                                       kernel_.operands[load.buffer].name, load.n));
    }
    for (const GemmAccess& store : problem_.stores) {
      if (store.n == 1) continue;
      return unimplemented(fmt::format("result '{}' has stride {} along columns, expected 1",
                                       kernel_.results[store.buffer - kernel_.operands.size()].name, store.n));
    }
    for (const GemmAccess* access : {&problem_.a, &problem_.b}) {
      for (const std::int64_t stride : {access->m, access->n, access->k}) {
        if (std::abs(stride) <= kMaxStride) continue;
        return unimplemented(fmt::format("operand '{}' has stride {}, expected at most {}",
                                         kernel_.operands[access->buffer].name, stride, kMaxStride));
      }
    }
    for (const std::vector<GemmAccess>* accesses : {&problem_.loads, &problem_.stores}) {
      for (const GemmAccess& access : *accesses) {
        if (std::abs(access.m) <= kMaxStride) continue;
        return unimplemented(
            fmt::format("the epilogue has stride {} along rows, expected at most {}", access.m, kMaxStride));
      }
    }
    return {};
  }

  std::string dim_text(std::size_t d) const { return fmt::format("d{} ({})", d, kernel_.domain[d].name); }

  const LoopKernel& kernel_;
  GemmProblem problem_;
  std::vector<std::int64_t> extents_;
  Walk a_, b_;
  std::vector<Walk> loads_, stores_;
  std::optional<std::size_t> m_, n_, k_;
  std::vector<std::size_t> batch_;
};

}  // namespace

Result<GemmProblem> match_gemm(const LoopKernel& collapsed) { return GemmMatcher(collapsed).run(); }

}  // namespace millrace
