// SPDX-License-Identifier: Apache-2.0
// A scan walks each line once, with what it has so far in a register: n steps, lanes across the last dim.
#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/line_walk.h"
#include "jit/ir/reduction.h"
#include "millrace/jit/float16_bodies.h"

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
  MachineValue along(const LinearValue& start, const KernelTensor& tensor, MachineValue position) {
    return start.plus(b_, LinearValue(position), tensor.layout.strides[scan_.axis]).value(b_);
  }

  void scan_line() {
    const DType stored = scan_.input.type.dtype;
    const LinearValue from = walk_.start(scan_.input), to = walk_.start(scan_.result);
    const MachineValue n = LinearValue::of_size(b_, scan_.input.type.shape[scan_.axis]).value(b_);
    const MachineValue end = b_.sub(n, b_.i64(1));
    const MachineValue identity = b_.constant_scalar(identity_of({scan_.kind, body_dtype(stored)}));
    const MachineValue initial = walk_.lanes() == 1 ? identity : b_.splat(identity, walk_.lanes());
    b_.for_loop(b_.i64(0), n, b_.i64(1), {initial}, [&](MachineValue step, const MachineBuilder::Values& carried) {
      const MachineValue position = scan_.reverse ? b_.sub(end, step) : step;
      const MachineValue at = along(from, scan_.input, position);
      const MachineValue loaded = walk_.load(input_, scan_.input.layout, at);
      const MachineValue term = widen_stored(b_, loaded, stored);
      const MachineValue next = combine(b_, scan_.kind, {carried[0], carried[0]}, term, term).value;
      const MachineValue given = scan_.exclusive ? carried[0] : next;
      walk_.store(result_, scan_.result.layout, along(to, scan_.result, position), narrow_to_stored(b_, given, stored));
      return MachineBuilder::Values{next};
    });
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
  sequence.kernels.back().kernel.flops =
      is_float(scan.input.type.dtype) ? scan.input.type.shape.num_elements() : SizeExpr(0);
  return sequence;
}

}  // namespace millrace
