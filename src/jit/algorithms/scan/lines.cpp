// SPDX-License-Identifier: Apache-2.0
// Scans each row in n steps, with the carry in a register. Each lane of a vector scans one of several neighbouring
// rows.
#include <algorithm>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/line_walk.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/scan/line_scan.h"

namespace millrace {
namespace {

/// Whether the lanes of a vector scan neighbouring rows that run along the last dim, so that their elements are
/// gathered. Per element, a gather costs more than an addition, but less than a minimum or maximum of floats. Long rows
/// are not gathered: if they are a power of two apart, they would evict each other from the cache.
bool gathers_rows(const ScanDescriptor& scan) {
  const bool is_order = scan.kind == ReductionKind::kMin || scan.kind == ReductionKind::kMax;
  return is_order && is_float(scan.input.type.dtype) && scan.axis + 1 == scan.input.type.shape.rank() &&
         scan.input.type.shape[scan.axis].upper_bound() <= kMaxInShortLine;
}

/// The maximum number of vectors side by side. A step then reads neighbouring cache lines, which the hardware
/// prefetches: for 4096x1024 f32, eight vectors take less than half the time of one (avx512).
constexpr std::uint32_t kMaxVectors = 8;
constexpr std::uint32_t kMaxLanes = 128;  // of a vector in kernel IR, which LLVM splits into registers
/// The wanted number of workgroups, so that threads can share the rows. Vectors are narrowed until there are enough
/// groups.
constexpr std::int64_t kWantedGroups = 16;
/// The maximum size of a vector if there are few columns. With vectors of 64 bytes, most accesses would straddle two
/// cache lines.
constexpr std::uint32_t kShortLineBytes = 32;

/// The number of neighbouring rows that a group scans, one per lane.
std::uint32_t lanes_of(const ScanDescriptor& scan, const TargetSpec& spec, bool gathers) {
  const auto bytes = static_cast<std::uint32_t>(size_bytes(body_dtype(scan.input.type.dtype)));
  const std::uint32_t in_vector = spec.vector_bytes() / bytes;
  const Shape& shape = scan.input.type.shape;
  const SizeExpr& columns = shape[shape.rank() - 1];
  if (gathers) return in_vector;
  if (columns.upper_bound() <= kMaxInShortLine) return std::min(in_vector, kShortLineBytes / bytes);
  std::uint32_t lanes = std::max(std::min(kMaxVectors * in_vector, kMaxLanes), in_vector);
  const std::int64_t lines = num_rows(shape, scan.axis).lower_bound();
  while (lanes > in_vector && (columns.lower_bound() < lanes || lines / lanes < kWantedGroups)) lanes /= 2;
  return lanes;
}

class ScanBuilder {
 public:
  ScanBuilder(const ScanDescriptor& scan, std::uint32_t lanes, bool gathers)
      : scan_(scan), b_(scan.name), walk_(b_, scan.input.type.shape, scan.axis, {.lanes = lanes, .gathers = gathers}) {
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
  const bool gathers = gathers_rows(scan);
  const std::uint32_t lanes = lanes_of(scan, target.spec(), gathers);
  KernelSequence sequence;
  MILLRACE_TRY(
      append_kernel(sequence, ScanBuilder(scan, lanes, gathers).run(), operands_then_results(1, 1), target, options));
  sequence.kernels.back().kernel.flops = flops_of(scan);
  return sequence;
}

}  // namespace millrace
