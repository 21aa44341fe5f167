// SPDX-License-Identifier: Apache-2.0
// Scans each contiguous row by vectors. The whole scan becomes one kernel, for which xbyak emits lane functions
// (src/jit/lanes/, src/hal/host/routines/scan/scan_rows.h).
#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/row_operation.h"
#include "jit/algorithms/scan/line_scan.h"

namespace millrace {
namespace {

/// The minimum row length. Each row costs a call and the steps for a whole vector, even if it fills few lanes.
/// scan_lines handles shorter rows.
constexpr std::int64_t kMinScanned = kMaxInShortLine + 1;

}  // namespace

Result<KernelSequence> lower_lane_scan(const KernelRequest& request, const Target& target,
                                       const LowerOptions& options) {
  const auto& scan = std::get<ScanDescriptor>(request);
  MILLRACE_TRY(check_scan(scan));
  const SizeExpr& n = scan.input.type.shape[scan.axis];
  if (options.force_algorithm.empty() && n.upper_bound() < kMinScanned) {
    return unimplemented(fmt::format("rows of {} elements, expected at least {} to pay off", n.to_text(), kMinScanned));
  }
  KernelSequence sequence;
  MILLRACE_TRY(
      append_kernel(sequence, row_kernel(scan), operands_then_results(num_operands(scan), 1), target, options));
  sequence.kernels.back().kernel.flops = scan.load ? flops_of(scan) + count_flops(*scan.load) : flops_of(scan);
  return sequence;
}

}  // namespace millrace
