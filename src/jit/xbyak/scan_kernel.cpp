// SPDX-License-Identifier: Apache-2.0
// Plans scan kernels, and emits their images.
#include <fmt/format.h>

#include "hal/host/routines/scan/scan_rows.h"
#include "jit/algorithms/scan/nested_carry.h"
#include "jit/lanes/scan_microkernels.h"
#include "jit/xbyak/lane_image.h"
#include "jit/xbyak/row_kernels.h"
#include "jit/xbyak/row_load.h"
#include "millrace/base/check.h"

namespace millrace {
namespace {

ScanRowsStep step_of(const ScanDescriptor& scan) {
  if (scan.step == ScanStep::kTotals) return ScanRowsStep::kTotals;
  return scan.step == ScanStep::kParts ? ScanRowsStep::kParts : ScanRowsStep::kRows;
}

/// The number of elements in a block, after which the carry restarts; 0 if no row is longer than a block.
std::int64_t block_elements_of(const ScanDescriptor& scan, IsaLevel isa) {
  const std::int64_t elements = kMaxSumTerms * num_lanes_of(isa, scan_lanes_of(scan).lane_bits());
  const bool has_blocks = has_nested_carry(scan) && scan.input.type.shape[scan.axis].upper_bound() > elements;
  return has_blocks ? elements : 0;
}

/// Emits the image. `p` holds the parameters that the plan has decided.
Result<ExecutableImage> emit_scan(ScanRowsParameters p, const ScanLanes& lanes, const std::optional<RowLoad>& load,
                                  std::size_t num_row_sizes, const TargetSpec& spec) {
  return emit_lane_image(spec.isa, [&](const MicrokernelSink& sink) {
    append_scan(p, sink, lanes);
    if (load && p.step != ScanRowsStep::kTotals) {
      p.load = load->append(sink, num_row_sizes);
      MILLRACE_CHECK(!lanes.is_block || RowLoader::kPieceBytes / p.element_bytes % p.block_elements == 0);
    }
    return call_of(Routine::scan_rows, p);
  });
}

}  // namespace

Result<PlannedKernel> plan_row_operation(const ScanDescriptor& scan, const TargetSpec& spec) {
  for (const KernelTensor* tensor : {&scan.input, &scan.result}) {
    const SizeExpr& stride = tensor->layout.strides[scan.axis];
    if (stride.is(1) || (scan.load && tensor == &scan.input)) continue;
    return unimplemented(fmt::format("'{}' has its elements {} apart along the axis, expected contiguous rows",
                                     tensor->name, stride.to_text()));
  }
  const RowPair rows(scan.input, scan.result, scan.axis, scan.step != ScanStep::kRows ? scan.parts : SizeExpr(1));
  std::vector<bool> buffer_is_written = {false, true};
  if (scan.step == ScanStep::kParts) buffer_is_written.insert(buffer_is_written.begin(), false);
  MILLRACE_TRY_ASSIGN(PlannedKernel planned, plan_row_pair(scan.name, rows, std::move(buffer_is_written)));
  ScanRowsParameters p{};
  p.step = step_of(scan);
  p.num_other_dims = rows.num_dims;
  p.block_elements = block_elements_of(scan, spec.isa);
  p.sums_per_level = kMaxSumTerms;
  ScanLanes lanes = scan_lanes_of(scan);
  lanes.is_block = p.block_elements != 0;
  planned.key_text =
      fmt::format("{} {} {} exclusive {} reverse {} dims {} step {} block {}\n", row_of(Routine::scan_rows).name,
                  to_text(scan.input.type.dtype), to_text(scan.kind), scan.exclusive, scan.reverse, rows.num_dims,
                  static_cast<std::int64_t>(p.step), p.block_elements);
  std::optional<RowLoad> load;
  if (scan.load) {
    MILLRACE_TRY_ASSIGN(load, plan_row_load(*scan.load, scan.axis, spec.isa));
    add_slot(planned, "piece", RowLoader::kPieceBytes);
    add_row_load(planned, *load);
  }
  planned.mapped = OpaquePlan{[p, lanes, load, num_row_sizes = rows.sizes.size()](const TargetSpec& target) {
    return emit_scan(p, lanes, load, num_row_sizes, target);
  }};
  return planned;
}

}  // namespace millrace
