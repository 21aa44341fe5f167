// SPDX-License-Identifier: Apache-2.0
// Estimates what a loop nest costs on a CPU for each dim along which its lanes can run.
#include "jit/map/lane_costs.h"

#include <algorithm>
#include <bit>

#include "jit/ir/affine.h"
#include "jit/map/nest.h"
#include "millrace/base/saturating.h"

namespace millrace {
namespace {

constexpr std::int64_t kManyTerms = 4;
/// Elements that are a multiple of this many bytes apart share few sets of the L1 cache and evict each other. Measured
/// (commit 8159106a): storing 3584 elements 1024 bytes apart took 6.9 us; storing them along the rows took 1.3 us.
constexpr std::int64_t kCollidingBytes = 512;
/// The maximum number of rows that are woven in registers before they are stored.
constexpr std::int64_t kMaxWovenRows = 8;
/// Costs in units of a vector load that hits the L1 cache. These are estimates, used only to rank the dims.
constexpr double kInstructionCost = 0.25, kSplatCost = 0.25;
constexpr double kTransposeCost = 0.5;                          // per bit of the lane index
constexpr double kEverySecondCost = 3;                          // two loads and a shuffle
constexpr double kGatherLaneCost = 0.75, kCollidingCost = 1.5;  // per lane
constexpr double kShuffleCost = 3;                              // per level of the tree that joins lanes

}  // namespace

LaneCosts::LaneCosts(const LoopKernel& kernel, const TargetSpec& target)
    : kernel_(kernel), num_parallel_(kernel.num_parallel()), target_(target) {
  for (const Body& term : kernel.terms) collect_walks(term, true);
  collect_walks(kernel.epilogue, false);
  for (const Access& store : kernel.stores) {
    const Layout& layout = kernel.results[store.tensor].layout;
    walks_.push_back({element_offset(store, layout, kernel.domain.size()), false, true, store.pass.has_value(), false,
                      kernel.results[store.tensor].type.dtype});
  }
  for (std::size_t d = num_parallel_; d < kernel.domain.size(); ++d) {
    reduction_points_ = saturating::multiply(reduction_points_, guess_extent(kernel.domain[d].extent));
  }
}

void LaneCosts::collect_walks(const Body& body, bool in_term) {
  for (const BodyInstruction& instruction : body.instructions) {
    if (instruction.op != KernelOp::kLoad) continue;
    const Access& load = kernel_.loads[instruction.immediate];
    const Layout& layout = kernel_.operands[load.tensor].layout;
    walks_.push_back({element_offset(load, layout, kernel_.domain.size()), load.dynamic_dim.has_value(), false, in_term,
                      load.fill.has_value(), stored_dtype(instruction)});
  }
}

DType LaneCosts::stored_dtype(const BodyInstruction& load) const {
  return kernel_.operands[kernel_.loads[load.immediate].tensor].type.dtype;
}

bool LaneCosts::is_copy() const {
  const Body& body = kernel_.epilogue;
  return kernel_.terms.empty() && body.instructions.size() == 1 &&
         body.instructions[BodyValueId{0}].op == KernelOp::kLoad &&
         std::ranges::all_of(kernel_.results, [&](const KernelTensor& result) {
           return result.type.dtype == stored_dtype(body.instructions[BodyValueId{0}]);
         });
}

/// For each instruction, whether its value changes along the dim.
std::vector<bool> LaneCosts::varying(const Body& body, std::size_t dim) const {
  std::vector<bool> varies;
  for (const BodyInstruction& instruction : body.instructions) {
    bool found =
        instruction.op == KernelOp::kTemporary || (instruction.op == KernelOp::kReduced && dim < num_parallel_);
    for (unsigned i = 0; i < instruction.num_operands; ++i) found |= varies[index_of(instruction.operands[i])];
    if (instruction.op == KernelOp::kIndex) found = instruction.immediate == dim;
    if (instruction.op == KernelOp::kLoad) {
      found |= std::ranges::any_of(kernel_.loads[instruction.immediate].indices,
                                   [dim](const AffineIndex& index) { return !index.coefficients[dim].is(0); });
    }
    varies.push_back(found);
  }
  return varies;
}

std::uint32_t LaneCosts::lanes_along(std::size_t dim) const {
  std::size_t widest = 1;
  const auto widen = [&](const Body& body) {
    const std::vector<bool> varies = varying(body, dim);
    for (std::size_t i = 0; i < varies.size(); ++i) {
      const BodyInstruction& instruction = body.instructions[BodyValueId(i)];
      if (!varies[i] && std::ranges::find(body.yields, BodyValueId(i)) == body.yields.end()) continue;
      widest = std::max(widest, size_bytes(is_copy() ? stored_dtype(instruction) : instruction.dtype));
    }
  };
  std::ranges::for_each(kernel_.terms, widen);
  if (kernel_.terms.empty() || reduction_points_ < kManyTerms) widen(kernel_.epilogue);
  const auto full = static_cast<std::uint32_t>(target_.vector_bytes() / widest);
  const SizeExpr& size = kernel_.domain[dim].extent;
  if (size.upper_bound() >= full) return full;
  return std::bit_ceil(static_cast<std::uint32_t>(std::max<std::int64_t>(size.upper_bound(), 1)));
}

/// Whether a block can transpose the loads of `walk` when lanes run along `dim`.
bool LaneCosts::can_transpose(const Walk& walk, std::size_t dim) const {
  if (!kernel_.terms.empty() || walk.is_store || walk.is_guarded || walk.is_dynamic) return false;
  for (std::size_t other = 0; other < num_parallel_; ++other) {
    if (other != dim && walk.offset.coefficients[other].is(1)) return extent(other) >= kMaxTransposedLanes;
  }
  return false;
}

/// Whether the points of another dim fill the gaps between the lanes of a store, so that they are woven in registers.
bool LaneCosts::weaves(const Walk& walk, std::size_t dim) const {
  const SizeExpr& step = walk.offset.coefficients[dim];
  if (!kernel_.terms.empty() || !walk.is_store || !step.is_constant() || step.constant() > kMaxWovenRows) return false;
  if (step.constant() < 2 || !std::has_single_bit(static_cast<std::uint64_t>(step.constant()))) return false;
  for (std::size_t other = 0; other < num_parallel_; ++other) {
    if (walk.offset.coefficients[other].is(1) && kernel_.domain[other].extent == step) return true;
  }
  return false;
}

/// The cost of one vector of `walk` with lanes along `dim`, in units of a vector load.
double LaneCosts::access_cost(const Walk& walk, std::size_t dim, std::uint32_t lanes) const {
  const SizeExpr& step = walk.offset.coefficients[dim];
  if (walk.is_dynamic && step.is(0)) return lanes;
  if (step.is(1)) return 1;
  if (step.is(0)) return kSplatCost;
  if (can_transpose(walk, dim)) return kTransposeCost * std::bit_width(lanes);
  if (step.is(2) && !walk.is_store) return kEverySecondCost;
  if (weaves(walk, dim)) return 1 + kTransposeCost * std::countr_zero(static_cast<std::uint64_t>(step.constant()));
  const bool collides = walk.is_store && step.known_multiple() * size_bytes(walk.stored) % kCollidingBytes == 0;
  return (collides ? kCollidingCost : kGatherLaneCost) * lanes;
}

double LaneCosts::along(std::size_t dim) const {
  const std::uint32_t lanes = lanes_along(dim);
  const bool is_parallel = dim < num_parallel_;
  double term = kInstructionCost * static_cast<double>(num_term_instructions());
  double epilogue = kInstructionCost * static_cast<double>(kernel_.epilogue.instructions.size());
  for (const Walk& walk : walks_) {
    (walk.in_term ? term : epilogue) += is_parallel || walk.in_term ? access_cost(walk, dim, lanes) : 1;
  }
  const double used_lanes = static_cast<double>(extent(dim)) / static_cast<double>((extent(dim) + lanes - 1) / lanes);
  // Joining lanes after a reduction takes a tree of shuffles.
  epilogue = is_parallel ? epilogue / used_lanes : epilogue + kShuffleCost * std::bit_width(lanes);
  return term / used_lanes + epilogue / static_cast<double>(reduction_points_);
}

std::size_t LaneCosts::num_term_instructions() const {
  std::size_t all = 0;
  for (const Body& term : kernel_.terms) all += term.instructions.size();
  return all;
}

std::int64_t LaneCosts::extent(std::size_t dim) const { return guess_extent(kernel_.domain[dim].extent); }

}  // namespace millrace
