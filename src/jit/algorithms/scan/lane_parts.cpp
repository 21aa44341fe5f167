// SPDX-License-Identifier: Apache-2.0
// Scans long contiguous rows by vectors, so that threads can share a row: one kernel finds the total of each part of a
// row, and another scans each part from the total of the parts before it. This reads the row twice. The parts depend on
// nothing but the row's length, so that sums round the same way for any number of threads.
#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/row_operation.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/scan/line_scan.h"
#include "jit/algorithms/size_margin.h"
#include "jit/lanes/scan_microkernels.h"

namespace millrace {
namespace {

/// The minimum length of a part, and of a row that is cut into parts. Only long rows are cut, because cutting them
/// means reading them twice.
constexpr std::int64_t kPartElements = 256 << 10, kMinElements = 16 * kPartElements;
/// The maximum number of parts per row, because each part combines all totals before it.
constexpr std::int64_t kMaxParts = 1024;

}  // namespace

std::vector<RequestCase> lane_scan_parts_cases(const KernelRequest& request, const TargetSpec&) {
  ScanDescriptor scan = std::get<ScanDescriptor>(request);
  if (scan.load) return {};  // each of the two kernels would compute the load again
  if (!scan.parts.is(1)) return {{1, std::move(scan)}};
  const SizeExpr margin = margin_of_at_least(scan.input.type.shape[scan.axis], kMinElements);
  if (!always_holds(margin)) scan.name += "_long";
  return {{margin, std::move(scan)}};
}

Result<KernelSequence> lower_lane_scan_parts(const KernelRequest& request, const Target& target,
                                             const LowerOptions& options) {
  const auto& scan = std::get<ScanDescriptor>(request);
  MILLRACE_TRY(check_scan(scan));
  const SizeExpr& n = scan.input.type.shape[scan.axis];
  if (options.force_algorithm.empty() && scan.parts.is(1) && n.upper_bound() < kMinElements) {
    return unimplemented(
        fmt::format("rows of {} elements, expected at least {} to pay off", n.to_text(), kMinElements));
  }
  ScanDescriptor totals = scan, parts = scan;
  totals.name += "_totals";
  totals.step = ScanStep::kTotals;
  parts.name += "_parts";
  parts.step = ScanStep::kParts;
  if (scan.parts.is(1)) totals.parts = parts.parts = max(min(floor_div(n, kPartElements), kMaxParts), 1);
  using Kind = SequenceOperand::Kind;
  const SequenceOperand input{Kind::kOperand, 0}, result{Kind::kResult, 0}, scratch{Kind::kScratch, 0};
  KernelSequence sequence;
  const SizeExpr num_parts = num_rows(scan.input.type.shape, scan.axis) * parts.parts;
  sequence.scratch.push_back({"totals", num_parts * scan_total_bytes(scan)});
  MILLRACE_TRY(append_kernel(sequence, row_kernel(totals), {input, scratch}, target, options));
  MILLRACE_TRY(append_kernel(sequence, row_kernel(parts), {input, scratch, result}, target, options));
  for (SequenceKernel& entry : sequence.kernels) entry.kernel.flops = flops_of(scan);
  return sequence;
}

}  // namespace millrace
