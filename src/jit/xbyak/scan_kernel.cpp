// SPDX-License-Identifier: Apache-2.0
#include "jit/xbyak/scan_kernel.h"

#include <fmt/format.h>

#include "hal/host/routines/scan_rows.h"
#include "jit/algorithms/scan/nested_carry.h"
#include "jit/lanes/scan_microkernels.h"
#include "jit/xbyak/lane_image.h"
#include "jit/xbyak/row_load.h"
#include "jit/xbyak/row_pair.h"
#include "millrace/base/check.h"

namespace millrace {
namespace {

/// About half of a large L3 cache: what is read again soon should stay there.
constexpr std::int64_t kStreamFromBytes = 16 << 20;

/// Neighbouring dims that both tensors walk as one are merged, so that most rows are those of a matrix.
RowPair rows_of(const ScanDescriptor& scan) {
  const Shape& shape = scan.input.type.shape;
  const Layout &input = scan.input.layout, &result = scan.result.layout;
  RowPair rows = {shape[scan.axis], input.offset, result.offset, {}};
  if (scan.step != ScanStep::kRows) rows.parts = scan.parts;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (d == scan.axis || shape[d].is(1)) continue;
    const RowPair::Dim dim = {shape[d], input.strides[d], result.strides[d]};
    const bool continues = !rows.dims.empty() && rows.dims.back().input_stride == dim.input_stride * dim.extent &&
                           rows.dims.back().result_stride == dim.result_stride * dim.extent;
    if (continues) {
      rows.dims.back() = {rows.dims.back().extent * dim.extent, dim.input_stride, dim.result_stride};
    } else {
      rows.dims.push_back(dim);
    }
  }
  return rows;
}

ScanRowsStep step_of(const ScanDescriptor& scan) {
  if (scan.step == ScanStep::kTotals) return ScanRowsStep::kTotals;
  return scan.step == ScanStep::kParts ? ScanRowsStep::kParts : ScanRowsStep::kRows;
}

/// The elements of a block, after which the carry restarts; 0 if no row has more.
std::int64_t block_elements_of(const ScanDescriptor& scan, IsaLevel isa) {
  const std::int64_t elements = kMaxSumTerms * num_lanes_of(isa, scan_lanes_of(scan).lane_bits());
  const bool has_blocks = has_nested_carry(scan) && scan.input.type.shape[scan.axis].upper_bound() > elements;
  return has_blocks ? elements : 0;
}

Result<ExecutableImage> emit_scan(const ScanDescriptor& scan, const std::optional<RowLoad>& load,
                                  const TargetSpec& spec) {
  return emit_lane_image([&](LaneAssembler& assembler) {
    ScanLanes lanes = scan_lanes_of(scan);
    ScanRowsParameters p{};
    p.block_elements = block_elements_of(scan, spec.isa);
    p.sums_per_level = kMaxSumTerms;
    lanes.is_block = p.block_elements != 0;
    p.element_bytes = static_cast<std::int64_t>(size_bytes(lanes.dtype));
    p.vector_bytes = std::int64_t{num_lanes_of(spec.isa, lanes.lane_bits())} * lanes.lane_bits() / 8;
    p.num_other_dims = static_cast<std::int64_t>(rows_of(scan).dims.size());
    p.is_reverse = lanes.reverse;
    p.identity = scan_identity(lanes);
    p.step = step_of(scan);
    p.total_bytes = scan_total_bytes(scan);
    if (p.step != ScanRowsStep::kRows) {
      p.total = append_microkernel(assembler, scan_total_function(spec.isa, lanes, p.step == ScanRowsStep::kParts));
    }
    if (p.step == ScanRowsStep::kTotals) return call_of(Routine::scan_rows, p);
    p.scan = append_microkernel(assembler, scan_function(spec.isa, lanes, false));
    p.stream_from_bytes = kStreamFromBytes;
    if (can_stream(lanes)) p.stream = append_microkernel(assembler, scan_function(spec.isa, lanes, true));
    if (load) {
      p.load = load->emit(assembler, spec.isa, rows_of(scan).sizes().size());
      MILLRACE_CHECK(!lanes.is_block || RowLoader::kPieceBytes / p.element_bytes % p.block_elements == 0);
    }
    return call_of(Routine::scan_rows, p);
  });
}

}  // namespace

Result<PlannedKernel> plan_rows_work(const ScanDescriptor& scan, const TargetSpec& spec) {
  for (const KernelTensor* tensor : {&scan.input, &scan.result}) {
    const SizeExpr& stride = tensor->layout.strides[scan.axis];
    if (stride.is(1) || (scan.load && tensor == &scan.input)) continue;
    return unimplemented(fmt::format("'{}' has its elements {} apart along the axis, takes contiguous rows",
                                     tensor->name, stride.to_text()));
  }
  const RowPair rows = rows_of(scan);
  MILLRACE_TRY_ASSIGN(PlannedKernel planned, plan_rows(scan.name, rows));
  if (scan.step == ScanStep::kParts) {
    planned.info.buffer_is_written = {false, false, true};
    planned.info.num_buffers = 3;
  }
  planned.key_text =
      fmt::format("{} {} {} exclusive {} reverse {} dims {} step {} block {}\n", row_of(Routine::scan_rows).name,
                  to_text(scan.input.type.dtype), to_text(scan.kind), scan.exclusive, scan.reverse, rows.dims.size(),
                  static_cast<std::int64_t>(step_of(scan)), block_elements_of(scan, spec.isa));
  std::optional<RowLoad> load;
  if (scan.load) {
    MILLRACE_TRY_ASSIGN(load, plan_row_load(*scan.load, scan.axis, spec.isa));
    planned.memory.slots.push_back({"piece", MemoryKind::kWorkgroup, 0, RowLoader::kPieceBytes, 0, 0});
    planned.memory.workgroup_bytes = planned.info.workgroup_bytes = RowLoader::kPieceBytes;
    add_row_load(planned, *load);
  }
  planned.mapped = KernelDesign{[scan, load](const TargetSpec& target) { return emit_scan(scan, load, target); }};
  return planned;
}

}  // namespace millrace
