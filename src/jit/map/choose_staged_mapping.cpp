// SPDX-License-Identifier: Apache-2.0
// Chooses a GPU mapping that stages operands in workgroup memory, for products and other reductions that reuse
// operands.
#include <algorithm>

#include "jit/ir/affine.h"
#include "jit/map/gpu_mapping.h"
#include "jit/map/nest.h"
#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// Threads of a workgroup along the rows, and along the lanes: 256 in all, as in choose_gpu_mapping.
constexpr std::uint32_t kSide = 16;
/// The number of reduction points in a staged block. It bounds the workgroup memory: with 64 points along the other
/// dim, a block of f32 takes 4 KiB.
constexpr std::uint32_t kStagedPoints = 16;
/// How often a thread's points along a dim may double: up to 4 rows by 4 lanes (commit 64b0ed2f).
constexpr int kMaxDoublings = 2;
constexpr std::int64_t kMaxTilePoints = std::int64_t{kSide} << kMaxDoublings;  // of a workgroup along a dim
/// Bytes for a thread's accumulators: 4 rows by 4 lanes of f32 are 16 vector registers.
constexpr std::size_t kMaxSumBytes = 64;
/// The minimum number of workgroups that must remain when a tile grows. With fewer, compute units would be idle: large
/// GPUs have 96 or more.
constexpr std::int64_t kManyGroups = 128;
/// The weight of one reuse. Contiguous stores add 1, so they only decide between dims with equal reuse.
constexpr std::int64_t kUseWeight = 2;

class StagedChoice {
 public:
  explicit StagedChoice(const LoopKernel& kernel) : kernel_(kernel), num_parallel_(kernel.num_parallel()) {}

  std::optional<GpuMapping> run() {
    if (classify(kernel_) == LoopKind::kRows) return std::nullopt;
    if (kernel_.reductions.size() != 1 || returns_index(kernel_.reductions[0].kind)) return std::nullopt;
    if (!collect_loads()) return std::nullopt;
    std::int64_t best = 0;
    for (std::size_t row = 0; row < num_parallel_; ++row) {
      for (std::size_t vector = 0; vector < num_parallel_; ++vector) {
        if (const std::int64_t benefit = benefit_of(row, vector); benefit > best) {
          best = benefit;
          row_ = row;
          vector_ = vector;
        }
      }
    }
    const std::optional<std::size_t> staged = longest_reduction();
    if (best == 0 || !staged) return std::nullopt;
    return make_mapping(*staged);
  }

 private:
  std::int64_t extent(std::size_t dim) const { return guess_extent(kernel_.domain[dim].extent); }

  /// Collects the accesses of the term. Returns false if a load is guarded or dynamic, or if the term reads indices.
  bool collect_loads() {
    for (const BodyInstruction& instruction : kernel_.terms[0].instructions) {
      if (instruction.op == KernelOp::kIndex || instruction.op == KernelOp::kCheckIndex) return false;
      if (instruction.op != KernelOp::kLoad) continue;
      const Access& load = kernel_.loads[instruction.immediate];
      if (load.dynamic_dim || load.fill) return false;
      walks_.push_back(element_offset(load, kernel_.operands[load.tensor].layout, kernel_.domain.size()));
    }
    return true;
  }

  /// A score that grows with the reuse of a block's elements; 0 if rows and lanes do not share loads.
  std::int64_t benefit_of(std::size_t row, std::size_t vector) const {
    if (row == vector || extent(row) < kSide || extent(vector) < kSide) return 0;
    if (kernel_.domain[row].is_workgroup_dim || kernel_.domain[vector].is_workgroup_dim) return 0;
    bool has_row = false, has_vector = false;
    for (const AffineIndex& walk : walks_) {
      const bool with_row = !walk.coefficients[row].is(0), with_vector = !walk.coefficients[vector].is(0);
      if (with_row && with_vector) return 0;
      has_row |= with_row;
      has_vector |= with_vector;
    }
    if (!has_row || !has_vector) return 0;
    const std::int64_t uses = std::min(extent(row), kMaxTilePoints) * std::min(extent(vector), kMaxTilePoints);
    return kUseWeight * uses + stores_along(vector);
  }

  bool stores_along(std::size_t dim) const {
    return std::ranges::all_of(kernel_.stores, [&](const Access& store) {
      const Layout& layout = kernel_.results[store.tensor].layout;
      return element_offset(store, layout, kernel_.domain.size()).coefficients[dim].is(1);
    });
  }

  std::optional<std::size_t> longest_reduction() const {
    std::optional<std::size_t> longest;
    for (std::size_t d = num_parallel_; d < kernel_.domain.size(); ++d) {
      if (extent(d) >= kStagedPoints && (!longest || extent(d) > extent(*longest))) longest = d;
    }
    return longest;
  }

  GpuMapping make_mapping(std::size_t staged) const {
    GpuMapping mapping;
    mapping.tile.vector_dim = static_cast<std::uint32_t>(vector_);
    mapping.tile.row_dim = static_cast<std::uint32_t>(row_);
    mapping.threads = {{mapping.tile.vector_dim, kSide}, {mapping.tile.row_dim, kSide}};
    mapping.workgroup_size = mapping.num_threads();
    mapping.staged_dim = static_cast<std::uint32_t>(staged);
    mapping.staged_points = kStagedPoints;
    mapping.stores_one_by_one = kernel_.epilogue.instructions.size() > kLongEpilogue;
    // Larger tiles load less. Smaller tiles make more workgroups and need fewer registers.
    const auto grow = [&](std::uint32_t& points, std::size_t dim) {
      points *= 2;
      const std::uint32_t sums = mapping.tile.lanes * mapping.tile.row_unroll;
      if (num_groups(mapping) < kManyGroups || mapping.points_along(dim) > extent(dim) ||
          sums * size_bytes(kernel_.reductions[0].dtype) > kMaxSumBytes) {
        points /= 2;
      }
    };
    for (int i = 0; i < kMaxDoublings; ++i) {
      grow(mapping.tile.lanes, vector_);
      grow(mapping.tile.row_unroll, row_);
    }
    return mapping;
  }

  std::int64_t num_groups(const GpuMapping& mapping) const {
    std::int64_t groups = 1;
    for (std::size_t d = 0; d < num_parallel_; ++d) {
      const std::int64_t points = mapping.points_along(d);
      groups = saturating::multiply(groups, (extent(d) + points - 1) / points);
    }
    return groups;
  }

  const LoopKernel& kernel_;
  std::size_t num_parallel_;
  std::vector<AffineIndex> walks_;
  std::size_t row_ = 0;
  std::size_t vector_ = 0;
};

}  // namespace

std::optional<GpuMapping> choose_staged_mapping(const LoopKernel& collapsed) { return StagedChoice(collapsed).run(); }

}  // namespace millrace
