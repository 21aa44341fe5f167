// SPDX-License-Identifier: Apache-2.0
// Chooses how a loop nest is spread over the threads of a GPU, from the strides of its accesses.
#include <algorithm>
#include <bit>

#include "jit/ir/affine.h"
#include "jit/map/gpu_mapping.h"
#include "jit/map/nest.h"
#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// The number of threads of a workgroup: enough subgroups to hide memory latency, but few enough for several workgroups
/// per compute unit.
constexpr std::uint32_t kThreads = 256;
/// The number of neighbouring threads that together access whole cache lines: 32 elements of 4 bytes are 128 bytes.
constexpr std::uint32_t kCoalesced = 32;
/// Threads along each dim of a transposing map, so that loads and stores both access 16 neighbouring elements.
constexpr std::uint32_t kTransposedSide = 16;
/// The minimum number of points of a reduction dim that threads share.
constexpr std::int64_t kWorthSharing = 16;
/// The minimum number of points per thread for a whole workgroup to share a reduction; a subgroup shares a shorter one.
constexpr std::int64_t kLongPointsPerThread = 4;
/// The number of threads that keeps a GPU busy.
constexpr std::int64_t kManyThreads = std::int64_t{1} << 14;
/// Bytes of a vector register per thread. Narrower elements occupy a whole register.
constexpr std::size_t kRegisterBytes = 4;

/// The number of temporaries of all points that one thread keeps in registers: a quarter of those with which several
/// subgroups still share a compute unit.
constexpr std::int64_t kMaxTemporaryRegisters = 32;

/// The costs of a thread's access, relative to one in which neighbouring threads access neighbouring elements. These
/// are estimates, used only to rank the dims.
constexpr double kSameElementCost = 0.1, kNeighbourCost = 1, kStridedCost = 8;

/// An access, as the cost model sees it.
struct Walk {
  AffineIndex offset;
  bool is_plain = true;  // no guard and no dynamic index
  bool in_term = false;
  std::size_t size_bytes = 4;
};

class GpuMappingChoice {
 public:
  GpuMappingChoice(const LoopKernel& kernel, const TargetSpec& target)
      : kernel_(kernel), num_parallel_(kernel.num_parallel()), target_(target) {
    for (const Body& term : kernel.terms) collect_walks(term, true);
    collect_walks(kernel.epilogue, false);
    for (const Access& store : kernel.stores) add_walk(store, kernel.results[store.tensor], store.pass.has_value());
    const auto none = static_cast<std::uint32_t>(kernel.domain.size());
    mapping_.tile = {.vector_dim = none, .row_dim = none};
  }

  GpuMapping run() {
    std::vector<std::size_t> dims = cheapest_first();
    if (!dims.empty() && !kernel_.domain[dims[0]].is_reduction) choose_lanes(dims[0]);
    if (dims.size() > 1 && is_transposed(dims[0], dims[1])) {
      add(dims[0], kTransposedSide);
      add(dims[1], kTransposedSide);
    }
    const std::optional<std::size_t> shared = shared_dim(dims);
    if (shared && dims[0] != *shared) add(dims[0], kCoalesced);
    if (shared) add(*shared, threads_to_share(*shared));
    for (const std::size_t dim : dims) {
      if (!kernel_.domain[dim].is_workgroup_dim) add(dim, kThreads);
    }
    mapping_.workgroup_size = std::max(mapping_.num_threads(), target_.subgroup_size());
    if (shared) mapping_.points_in_registers = points_in_registers(*shared);
    return mapping_;
  }

 private:
  void add_walk(const Access& access, const KernelTensor& tensor, bool in_term) {
    walks_.push_back({element_offset(access, tensor.layout, kernel_.domain.size()), !access.dynamic_dim && !access.fill,
                      in_term, size_bytes(tensor.type.dtype)});
  }

  void collect_walks(const Body& body, bool in_term) {
    for (const BodyInstruction& instruction : body.instructions) {
      if (instruction.op != KernelOp::kLoad) continue;
      const Access& load = kernel_.loads[instruction.immediate];
      add_walk(load, kernel_.operands[load.tensor], in_term);
    }
  }

  std::int64_t extent(std::size_t dim) const { return guess_extent(kernel_.domain[dim].extent); }

  std::int64_t points(std::size_t first, std::size_t end) const {
    std::int64_t all = 1;
    for (std::size_t d = first; d < end; ++d) all = saturating::multiply(all, extent(d));
    return all;
  }

  /// The cost per point if neighbouring threads compute neighbouring points along `dim`.
  double cost_along(std::size_t dim) const {
    double cost = 0;
    for (const Walk& walk : walks_) {
      if (!kernel_.terms.empty() && !walk.in_term) continue;
      const SizeExpr& step = walk.offset.coefficients[dim];
      cost += step.is(0) ? kSameElementCost : step.is(1) ? kNeighbourCost : kStridedCost;
    }
    return cost;
  }

  /// The best dim for neighbouring threads, then the other parallel dims, innermost first. The list has a reduction dim
  /// only if that is the best.
  std::vector<std::size_t> cheapest_first() const {
    std::vector<std::size_t> dims;
    for (std::size_t d = num_parallel_; d-- > 0;) dims.push_back(d);
    std::optional<std::size_t> best;
    for (std::size_t d = kernel_.domain.size(); d-- > 0;) {
      if ((d >= num_parallel_ && extent(d) < kWorthSharing) || kernel_.domain[d].is_workgroup_dim) continue;
      if (!best || cost_along(d) < cost_along(*best)) best = d;
    }
    if (!best) return dims;
    std::erase(dims, *best);
    dims.insert(dims.begin(), *best);
    return dims;
  }

  /// Whether some access would be strided for threads along `near`, but contiguous for threads along `far`. Both dims
  /// then get threads.
  bool is_transposed(std::size_t near, std::size_t far) const {
    return kernel_.terms.empty() && std::ranges::any_of(walks_, [&](const Walk& walk) {
             const SizeExpr& step = walk.offset.coefficients[near];
             return walk.offset.coefficients[far].is(1) && !step.is(0) && !step.is(1);
           });
  }

  /// The reduction dim whose points threads share: the one along which neighbouring threads run; otherwise, if a GPU
  /// needs more parallel points than there are, the longest one.
  std::optional<std::size_t> shared_dim(const std::vector<std::size_t>& dims) const {
    if (!dims.empty() && kernel_.domain[dims[0]].is_reduction) return dims[0];
    if (points(0, num_parallel_) >= kManyThreads) return std::nullopt;
    std::optional<std::size_t> longest;
    for (std::size_t d = num_parallel_; d < kernel_.domain.size(); ++d) {
      if (extent(d) >= kWorthSharing && (!longest || extent(d) > extent(*longest))) longest = d;
    }
    return longest;
  }

  /// The points of each thread along the shared dim `dim`, if their temporaries fit into registers and all threads have
  /// equally many. Otherwise 0.
  std::uint32_t points_in_registers(std::size_t dim) const {
    const SizeExpr& extent = kernel_.domain[dim].extent;
    const std::uint32_t threads = mapping_.threads_along(dim);
    const bool is_only_dim = kernel_.domain.size() == num_parallel_ + 1;
    if (kernel_.temporaries.empty() || !is_only_dim || threads == 1 || !extent.is_constant()) return 0;
    const std::int64_t points = extent.constant() / threads;
    const bool is_even = points * threads == extent.constant();
    const bool fits =
        saturating::multiply(points, static_cast<std::int64_t>(kernel_.temporaries.size())) <= kMaxTemporaryRegisters;
    return is_even && fits ? static_cast<std::uint32_t>(points) : 0;
  }

  std::uint32_t threads_to_share(std::size_t dim) const {
    const bool is_long =
        extent(dim) >= kLongPointsPerThread * kThreads || points(0, num_parallel_) < kManyThreads / kThreads;
    return is_long ? kThreads : target_.subgroup_size();
  }

  /// Lets each thread access vectors, if every tensor is contiguous or constant along `dim` and no vector is partial.
  void choose_lanes(std::size_t dim) {
    if (!kernel_.terms.empty() || kernel_.epilogue.instructions.size() > kLongEpilogue) return;
    std::size_t widest = 1;
    for (const Walk& walk : walks_) {
      const SizeExpr& step = walk.offset.coefficients[dim];
      if (!walk.is_plain || (!step.is(0) && !step.is(1))) return;
      widest = std::max(widest, walk.size_bytes);
    }
    const auto lanes = static_cast<std::uint32_t>(target_.vector_bytes() / std::max(widest, kRegisterBytes));
    if (kernel_.domain[dim].extent.known_multiple() % lanes != 0) return;
    mapping_.tile.vector_dim = static_cast<std::uint32_t>(dim);
    mapping_.tile.row_dim = mapping_.tile.vector_dim;
    mapping_.tile.lanes = lanes;
  }

  /// Adds threads along `dim`: at most `max_threads`, no more than the workgroup has left, and no more than the dim
  /// needs.
  void add(std::size_t dim, std::uint32_t max_threads) {
    if (mapping_.threads_along(dim) > 1) return;
    const std::uint32_t left = kThreads / mapping_.num_threads();
    const std::int64_t fill = kernel_.domain[dim].extent.upper_bound() / tile_of(mapping_.tile, dim);
    const auto wanted = static_cast<std::uint32_t>(std::clamp<std::int64_t>(fill, 1, kThreads));
    const std::uint32_t threads = std::min({max_threads, left, std::bit_ceil(wanted)});
    if (threads > 1) mapping_.threads.push_back({static_cast<std::uint32_t>(dim), threads});
  }

  const LoopKernel& kernel_;
  std::size_t num_parallel_;
  const TargetSpec& target_;
  std::vector<Walk> walks_;
  GpuMapping mapping_;
};

}  // namespace

std::uint32_t GpuMapping::threads_along(std::size_t dim) const {
  for (const ThreadDim& along : threads) {
    if (along.dim == dim) return along.threads;
  }
  return 1;
}

std::uint32_t GpuMapping::num_threads() const {
  std::uint32_t all = 1;
  for (const ThreadDim& along : threads) all *= along.threads;
  return all;
}

std::int64_t GpuMapping::points_along(std::size_t dim) const { return threads_along(dim) * tile_of(tile, dim); }

GpuMapping choose_gpu_mapping(const LoopKernel& collapsed, const TargetSpec& target) {
  if (std::optional<GpuMapping> staged = choose_staged_mapping(collapsed)) return *std::move(staged);
  return GpuMappingChoice(collapsed, target).run();
}

}  // namespace millrace
