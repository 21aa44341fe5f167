// SPDX-License-Identifier: Apache-2.0
// Scans each row once, with the carry in a register: n steps, with lanes along the last dim.
#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/line_walk.h"
#include "jit/algorithms/scan/line_scan.h"

namespace millrace {
namespace {

class ScanBuilder {
 public:
  ScanBuilder(const ScanDescriptor& scan, std::uint32_t lanes)
      : scan_(scan), b_(scan.name), walk_(b_, scan.input.type.shape, scan.axis, {.lanes = lanes}) {
    const DType dtype = scan.input.type.dtype;
    input_ = b_.buffer(scan.input.name, dtype, BufferAccess::kRead);
    result_ = b_.buffer(scan.result.name, dtype, BufferAccess::kWrite);
  }

  MachineKernel run() {
    b_.set_num_groups(walk_.num_groups());
    walk_.run([&] { scan_line(); });
    return b_.finish();
  }

 private:
  void scan_line() {
    const LinearValue from = walk_.start(scan_.input), to = walk_.start(scan_.result);
    const auto load = [&](MachineValue position) {
      return walk_.load(input_, scan_.input.layout, walk_.element(scan_.input, from, position));
    };
    const auto store = [&](MachineValue position, MachineValue value) {
      walk_.store(result_, scan_.result.layout, walk_.element(scan_.result, to, position), value);
    };
    emit_line_scan(b_, scan_, walk_.lanes(), load, store);
  }

  const ScanDescriptor& scan_;
  MachineBuilder b_;
  LineWalk walk_;
  MemoryHandle input_, result_;
};

}  // namespace

Result<KernelSequence> lower_scan_lines(const KernelRequest& request, const Target& target,
                                        const LowerOptions& options) {
  const ScanDescriptor& scan = std::get<ScanDescriptor>(request);
  MILLRACE_TRY(check_scan(scan));
  const std::size_t bytes = size_bytes(body_dtype(scan.input.type.dtype));
  const auto lanes = static_cast<std::uint32_t>(target.spec().vector_bytes() / static_cast<std::int64_t>(bytes));
  KernelSequence sequence;
  MILLRACE_TRY(append_kernel(sequence, ScanBuilder(scan, lanes).run(), operands_then_results(1, 1), target, options));
  sequence.kernels.back().kernel.flops = flops_of(scan);
  return sequence;
}

}  // namespace millrace
