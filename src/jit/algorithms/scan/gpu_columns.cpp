// SPDX-License-Identifier: Apache-2.0
// Scans rows that lie side by side in memory, with one thread per row, so that neighbouring threads read neighbouring
// elements. Reads each element once. Threads do not communicate.
#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/scan/line_scan.h"
#include "jit/algorithms/size_margin.h"

namespace millrace {
namespace {

constexpr std::int64_t kThreads = 256;  // per workgroup
/// The minimum number of rows for one thread per row. With fewer rows, a GPU would be partly idle.
constexpr std::int64_t kMinLines = 1024;

class ScanColumnsBuilder {
 public:
  ScanColumnsBuilder(const ScanDescriptor& scan, std::uint32_t subgroup_size) : scan_(scan), b_(scan.name) {
    const DType dtype = scan.input.type.dtype;
    b_.set_workgroup(kThreads, subgroup_size);
    input_ = b_.buffer(scan.input.name, dtype, BufferAccess::kRead);
    result_ = b_.buffer(scan.result.name, dtype, BufferAccess::kWrite);
  }

  MachineKernel run() {
    const SizeExpr lines = num_rows(scan_.input.type.shape, scan_.axis);
    b_.set_num_groups(ceil_div(lines, kThreads));
    const MachineValue thread = b_.convert(DType::kI64, b_.thread_id());
    const MachineValue line = b_.mul_add(b_.workgroup_id(), b_.i64(kThreads), thread);
    when(b_, b_.lt(line, b_.size(lines)), [&] { scan_line(line); });
    return b_.finish();
  }

 private:
  void scan_line(MachineValue line) {
    const MachineValue from = row_start(b_, scan_.input, scan_.axis, line);
    const MachineValue to = row_start(b_, scan_.result, scan_.axis, line);
    const auto load = [&](MachineValue position) {
      return b_.load(input_, row_element(b_, scan_.input, scan_.axis, from, position));
    };
    const auto store = [&](MachineValue position, MachineValue value) {
      b_.store(result_, row_element(b_, scan_.result, scan_.axis, to, position), value);
    };
    emit_line_scan(b_, scan_, 1, load, store);
  }

  const ScanDescriptor& scan_;
  MachineBuilder b_;
  MemoryHandle input_, result_;
};

/// The condition for one thread per row: there are enough rows, and they lie side by side in memory.
SizeExpr margin_of_columns(const ScanDescriptor& scan) {
  return margin_of_both(margin_of_at_least(num_rows(scan.input.type.shape, scan.axis), kMinLines),
                        margin_of_at_least(scan.input.layout.strides[scan.axis], 2));
}

}  // namespace

std::vector<RequestCase> gpu_scan_columns_cases(const KernelRequest& request, const TargetSpec&) {
  ScanDescriptor scan = std::get<ScanDescriptor>(request);
  const SizeExpr margin = margin_of_columns(scan);
  if (!always_holds(margin)) scan.name += "_columns";
  return {{margin, scan}};
}

Result<KernelSequence> lower_gpu_scan_columns(const KernelRequest& request, const Target& target,
                                              const LowerOptions& options) {
  const auto& scan = std::get<ScanDescriptor>(request);
  MILLRACE_TRY(check_scan(scan));
  const SizeExpr lines = num_rows(scan.input.type.shape, scan.axis), &stride = scan.input.layout.strides[scan.axis];
  if (options.force_algorithm.empty() && never_holds(margin_of_columns(scan))) {
    return unimplemented(fmt::format("{} rows whose elements are {} apart, expected at least {} rows side by side",
                                     lines.to_text(), stride.to_text(), kMinLines));
  }
  KernelSequence sequence;
  MILLRACE_TRY(append_kernel(sequence, ScanColumnsBuilder(scan, target.spec().subgroup_size()).run(),
                             operands_then_results(1, 1), target, options));
  sequence.kernels.back().kernel.flops = flops_of(scan);
  return sequence;
}

}  // namespace millrace
