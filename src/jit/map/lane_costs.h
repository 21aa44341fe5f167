// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/hal/target_spec.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// The maximum number of lanes of blocks transposed in registers: larger ones need more vectors than there are
/// registers.
inline constexpr std::uint32_t kMaxTransposedLanes = 16;

/// One access of a term or the epilogue, and how its address changes.
struct Walk {
  AffineIndex offset;
  bool is_dynamic = false;
  bool is_store = false;
  bool in_term = false;
  bool is_guarded = false;
  DType stored = DType::kF32;
};

/// What it costs on a CPU if lanes run along a dim of a loop nest. These are estimates, used only to rank the dims.
class LaneCosts {
 public:
  /// Keeps references to both. `kernel` is collapsed.
  LaneCosts(const LoopKernel& kernel, const TargetSpec& target);

  const std::vector<Walk>& walks() const { return walks_; }
  /// The number of points of the reduction dims.
  std::int64_t reduction_points() const { return reduction_points_; }
  std::size_t num_term_instructions() const;
  /// Whether the kernel only moves elements. Registers then hold 16-bit floats unconverted.
  bool is_copy() const;
  /// The number of lanes of a vector of the widest dtype in which the bodies compute, but no more than the dim needs.
  /// What is equal in all lanes does not count. An epilogue after many terms may take several vectors.
  std::uint32_t lanes_along(std::size_t dim) const;
  /// The cost per point of the whole domain with lanes along `dim`, in units of a vector load that hits the L1 cache.
  double along(std::size_t dim) const;

 private:
  void collect_walks(const Body& body, bool in_term);
  DType stored_dtype(const BodyInstruction& load) const;
  std::int64_t extent(std::size_t dim) const;
  std::vector<bool> varying(const Body& body, std::size_t dim) const;
  bool can_transpose(const Walk& walk, std::size_t dim) const;
  bool weaves(const Walk& walk, std::size_t dim) const;
  double access_cost(const Walk& walk, std::size_t dim, std::uint32_t lanes) const;

  const LoopKernel& kernel_;
  std::size_t num_parallel_;
  const TargetSpec& target_;
  std::vector<Walk> walks_;
  std::int64_t reduction_points_ = 1;
};

}  // namespace millrace
