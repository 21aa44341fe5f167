// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// The alternatives of KernelRequest, in order.
enum class RequestKind : std::uint8_t { kLoop, kSort, kScan, kScatter };

/// The targets for which an algorithm can lower: those with one thread per workgroup (CPU), with many (GPU), or both.
enum class AlgorithmTargets : std::uint8_t { kAll, kCpu, kGpu };

/// One case of a request: the sizes for which `margin` is at least 1 (size_margin.h). `request` is the request with its
/// sizes bounded accordingly, and with a name of its own.
struct RequestCase {
  SizeExpr margin;
  KernelRequest request;
};

/// A way to lower requests of one kind, for targets of one kind. It may refuse a request with a reason.
struct Algorithm {
  std::string_view name;
  RequestKind takes = RequestKind::kLoop;
  AlgorithmTargets targets = AlgorithmTargets::kAll;
  /// `options.force_algorithm` is empty or this algorithm's name. If forced, the algorithm refuses only requests that
  /// it cannot lower. If not, it may also refuse requests that another algorithm lowers better.
  Result<KernelSequence> (*lower)(const KernelRequest&, const Target&, const LowerOptions& options) = nullptr;
  /// Returns the cases of run-time sizes that the algorithm lowers. The first case whose margin holds applies. If null,
  /// the algorithm lowers all sizes. If the function returns no case, the algorithm is skipped without a refusal.
  std::vector<RequestCase> (*cases)(const KernelRequest&, const TargetSpec&) = nullptr;
  /// Whether `lower` supports requests whose input is computed by a load. If not, another kernel stores the load's
  /// result first (stored_load.h).
  bool reads_loads = false;
};

/// All algorithms, in the order in which they are tried.
std::span<const Algorithm> algorithms();

/// lower_request() for a request whose nest or load is already verified. The algorithms do not verify it again.
Result<KernelSequence> lower_verified(const KernelRequest&, const Target&, const LowerOptions&);

Result<KernelSequence> lower_lane_arg_parts(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_loop_direct(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_reduce_parts(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_loop_pad_first(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_topk_heap(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_lane_topk_parts(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_lane_sort(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_lane_sort_parts(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_row_network(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_counting_sort(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_radix_sort(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_merge_sort(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_lane_scan_parts(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_lane_scan(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_scan_lines(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_scatter_lines(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_gpu_tile_sort(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_gpu_topk_lanes(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_gpu_topk_parts(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_gpu_topk_select(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_gpu_radix_sort(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_gpu_scan_columns(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_gpu_scan_rows(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_gpu_scan_pieces(const KernelRequest&, const Target&, const LowerOptions&);

std::vector<RequestCase> lane_arg_parts_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> reduce_parts_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> topk_heap_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> lane_topk_parts_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> lane_sort_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> lane_sort_parts_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> lane_scan_parts_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> row_network_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> counting_sort_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> radix_sort_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> gpu_tile_sort_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> gpu_topk_lanes_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> gpu_topk_parts_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> gpu_scan_columns_cases(const KernelRequest&, const TargetSpec&);
std::vector<RequestCase> gpu_scan_rows_cases(const KernelRequest&, const TargetSpec&);

struct SortBounds {
  std::int64_t n = std::numeric_limits<std::int64_t>::max();
  std::int64_t k = std::numeric_limits<std::int64_t>::max();
};
/// The case of a sort in which `margin` holds. Limits the row length and k to `SortBounds`. Appends `name` to the
/// sort's name unless the margin always holds.
RequestCase sort_case(const SizeExpr& margin, SortDescriptor, const SortBounds&, std::string_view name);

/// Checks that a request is valid. Every algorithm calls this.
Status check_sort(const SortDescriptor&);
/// check_sort() for algorithms that also support rows cut into parts, and input elements with given indices.
Status check_sort_of_parts(const SortDescriptor&);
Status check_scan(const ScanDescriptor&);

/// Plans `kernel` with the target's generators and appends it.
Status append_kernel(KernelSequence& sequence, const Kernel& kernel, std::vector<SequenceOperand> buffers,
                     const Target& target, const LowerOptions& options);

/// The number of operands: those of the load if there is one, otherwise the input and, if given, its indices.
std::size_t num_operands(const SortDescriptor&);
std::size_t num_operands(const ScanDescriptor&);
/// The number of requested results.
std::size_t num_results(const SortDescriptor&);

/// The operands, then the results. An operand that shares a result's buffer is left out.
std::vector<SequenceOperand> buffers_of(const LoopKernel&);
/// Operands 0, 1, ..., then results 0, 1, ...
std::vector<SequenceOperand> operands_then_results(std::size_t num_operands, std::size_t num_results);

}  // namespace millrace
