// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "millrace/jit/algorithm.h"

namespace millrace {

/// The alternatives of KernelRequest, in their order.
enum class RequestKind : std::uint8_t { kLoop, kSort, kScan, kScatter };

/// What an algorithm makes kernels for: workgroups of one thread, of many, or whichever the target has.
enum class AlgorithmTargets : std::uint8_t { kAll, kCpu, kGpu };

/// A way to lower requests. Takes one kind of them, for targets of one kind, and may refuse one with a reason.
struct Algorithm {
  std::string_view name;
  RequestKind takes = RequestKind::kLoop;
  AlgorithmTargets targets = AlgorithmTargets::kAll;
  /// `options.force_algorithm` is this name or empty: what is forced refuses only what it cannot do, not what it
  /// thinks that another does better.
  Result<KernelSequence> (*lower)(const KernelRequest&, const Target&, const LowerOptions& options) = nullptr;
};

/// In the order in which they are asked.
std::span<const Algorithm> algorithms();

Result<KernelSequence> lower_loop_direct(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_loop_pad_first(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_merge_sort(const KernelRequest&, const Target&, const LowerOptions&);
Result<KernelSequence> lower_merge_sort_scratch(const KernelRequest&, const Target&, const LowerOptions&);
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

/// Whether the request can be done at all; every algorithm asks.
Status check_sort(const SortDescriptor&);
Status check_scan(const ScanDescriptor&);

/// Plans `kernel` with the target's generators and appends it.
Status append_kernel(KernelSequence& sequence, const Kernel& kernel, std::vector<SequenceOperand> buffers,
                     const Target& target, const LowerOptions& options);

/// Those that are wanted.
std::size_t num_results(const SortDescriptor&);

/// Operands 0, 1, ..., then results 0, 1, ...
std::vector<SequenceOperand> operands_then_results(std::size_t num_operands, std::size_t num_results);

}  // namespace millrace
