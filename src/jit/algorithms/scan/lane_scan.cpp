// SPDX-License-Identifier: Apache-2.0
// Scans each contiguous row by vectors: the generator with lanes takes the whole scan (src/jit/lanes/,
// src/hal/host/routines/scan_rows.h).
#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/scan/line_scan.h"

namespace millrace {

Result<KernelSequence> lower_lane_scan(const KernelRequest& request, const Target& target,
                                       const LowerOptions& options) {
  const auto& scan = std::get<ScanDescriptor>(request);
  MILLRACE_TRY(check_scan(scan));
  KernelSequence sequence;
  MILLRACE_TRY(append_kernel(sequence, scan, operands_then_results(num_operands(scan), 1), target, options));
  sequence.kernels.back().kernel.flops = scan.load ? flops_of(scan) + count_flops(*scan.load) : flops_of(scan);
  return sequence;
}

}  // namespace millrace
