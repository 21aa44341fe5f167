// SPDX-License-Identifier: Apache-2.0
// Scans rows by workgroups. In each step, a thread scans a few neighbouring elements. The threads of a row then combine
// their values, by shuffles and in workgroup memory, and carry the total to the next step. A row too long for one
// workgroup is cut into pieces: one kernel reduces each piece, the next scans the totals, and the last scans each piece
// from its start value. This reads the row twice and writes it once. The carries of float sums nest (nested_carry.h):
// the carry of a piece starts at 0, and its start value is added to each result.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/scan/line_scan.h"
#include "jit/algorithms/scan/workgroup_scan.h"
#include "jit/ir/reduction.h"
#include "millrace/jit/float16_bodies.h"

namespace millrace {
namespace {

constexpr std::uint32_t kThreads = 256;        // per workgroup
constexpr std::uint32_t kLanes = 4;            // elements per thread and step
constexpr std::int64_t kPieceElements = 8192;  // elements of a row per workgroup
constexpr std::int64_t kManyRows = 256;        // this many rows keep a GPU busy even if they are not cut

/// The part of a scan that a kernel computes.
enum class ScanPart : std::uint8_t {
  kRow,     // the results of a whole row
  kReduce,  // the total of each piece
  kPiece,   // the results of each piece, given the total of the pieces before it
};

std::string kernel_name(const ScanDescriptor& scan, ScanPart part) {
  constexpr std::string_view kSteps[] = {"", "_reduce", "_pieces"};
  return fmt::format("{}{}", scan.name, kSteps[static_cast<std::size_t>(part)]);
}

class ScanBuilder {
 public:
  ScanBuilder(const ScanDescriptor& scan, ScanPart part, std::uint32_t subgroup_size)
      : scan_(scan),
        part_(part),
        b_(kernel_name(scan, part)),
        n_(scan.input.type.shape[scan.axis]),
        rows_(num_rows(scan.input.type.shape, scan.axis)),
        accumulator_(body_dtype(scan.input.type.dtype)),
        threads_(part == ScanPart::kRow ? threads_for(ceil_div(n_, kLanes), subgroup_size, kThreads) : all_threads()),
        subgroup_size_(subgroup_size),
        identity_(b_.constant_scalar(identity_of({scan.kind, accumulator_}))) {
    b_.set_workgroup(kThreads, subgroup_size);
    input_ = b_.buffer(scan.input.name, scan.input.type.dtype, BufferAccess::kRead);
    if (part != ScanPart::kRow) {
      totals_ = b_.buffer("totals", accumulator_, is_reduce() ? BufferAccess::kWrite : BufferAccess::kRead);
    }
    if (!is_reduce()) result_ = b_.buffer(scan.result.name, scan.result.type.dtype, BufferAccess::kWrite);
  }

  MachineKernel run() {
    width_ = threads_.in_kernel(b_);
    place_row();
    WorkgroupScan scan(b_, combiner(), identity_, {.width = width_, .subgroup_size = subgroup_size_});
    CarriedLoop loop = {.first = first_,
                        .end = loop_end_,
                        .step = b_.size(max(threads_.value, 1) * kLanes),
                        .levels = num_carry_levels(scan_, max_steps()),
                        .identity = identity_};
    if (part_ == ScanPart::kPiece) {
      const MachineValue start = b_.load(totals_, b_.workgroup_id());
      if (has_nested_carry(scan_)) {
        loop.base = start;
      } else {
        loop.identity = start;
      }
    }
    const MachineValue mine = b_.mul(b_.convert(DType::kI64, scan.place()), b_.i64(kLanes));
    const MachineValue total = emit_carried_loop(
        b_, loop, [&](MachineValue at, const std::optional<MachineValue>& base, MachineValue carried) {
          return scan_step(scan, b_.add(at, mine), base, carried);
        });
    if (is_reduce()) write_total(scan, total);
    return b_.finish();
  }

 private:
  bool is_reduce() const { return part_ == ScanPart::kReduce; }
  MachineValue combined(MachineValue a, MachineValue c) { return combine(b_, scan_.kind, {a, a}, c, c).value; }
  WorkgroupScan::Combine combiner() {
    return [this](MachineValue a, MachineValue c) { return combined(a, c); };
  }

  /// The maximum number of steps. The bound also holds for a row with fewer threads than a workgroup, which takes a
  /// single step.
  std::int64_t max_steps() const {
    const std::int64_t elements = part_ == ScanPart::kRow ? n_.upper_bound() : kPieceElements;
    return elements / (std::int64_t{kThreads} * kLanes) + 1;
  }

  static SizePower all_threads() { return {.value = kThreads, .bits = std::countr_zero(kThreads)}; }

  /// Determines the row, and its part [first, end). Threads without a row get an empty part, but run the same loop as
  /// the others.
  void place_row() {
    const MachineValue group = b_.workgroup_id(), n = b_.size(n_);
    first_ = b_.i64(0);
    end_ = loop_end_ = n;
    if (part_ != ScanPart::kRow) {
      const SizeExpr pieces = ceil_div(n_, kPieceElements);
      b_.set_num_groups(rows_ * pieces);
      row_ = rows_.is(1) ? b_.i64(0) : b_.div(group, b_.size(pieces));
      const MachineValue piece = rows_.is(1) ? group : b_.rem(group, b_.size(pieces));
      first_ = b_.mul(piece, b_.i64(kPieceElements));
      end_ = loop_end_ = b_.min(n, b_.add(first_, b_.i64(kPieceElements)));
    } else if (threads_.value.is(kThreads)) {
      b_.set_num_groups(rows_);
      row_ = group;
    } else {
      b_.set_num_groups(ceil_div(rows_ * threads_.value, kThreads));
      const MachineValue row_in_group = b_.shr(b_.thread_id(), log2_of(b_, width_));
      const MachineValue rows_of_group = b_.size(floor_div(kThreads, max(threads_.value, 1)));
      row_ = b_.mul_add(group, rows_of_group, b_.convert(DType::kI64, row_in_group));
      end_ = b_.select(b_.lt(row_, b_.size(rows_)), n, b_.i64(0));
    }
    from_ = row_start(b_, scan_.input, scan_.axis, row_);
    if (!is_reduce()) to_ = row_start(b_, scan_.result, scan_.axis, row_);
  }

  /// Scans elements [position, position + kLanes) of the row, in the order of the scan. Returns the new carry.
  MachineValue scan_step(WorkgroupScan& scan, MachineValue position, const std::optional<MachineValue>& base,
                         MachineValue carried) {
    const MachineValue positions = b_.add(b_.splat(position, kLanes), b_.lane_iota(DType::kI64, kLanes));
    const MachineValue mask = b_.lt(positions, b_.splat(end_, kLanes));
    const DType stored = scan_.input.type.dtype;
    const MachineValue loaded = load(position, positions, mask);
    const MachineValue terms = b_.select(mask, widen_stored(b_, loaded, stored), b_.splat(identity_, kLanes));
    MachineValue sums[kLanes] = {b_.extract(terms, 0)};
    for (std::uint32_t i = 1; i < kLanes; ++i) sums[i] = combined(sums[i - 1], b_.extract(terms, i));
    if (is_reduce()) return combined(carried, sums[kLanes - 1]);
    scan.next_run();
    const ScannedValue threads = scan.run(sums[kLanes - 1]);
    const MachineValue before = combined(carried, threads.before);
    MachineValue results = before;
    for (std::uint32_t i = 0; i < kLanes; ++i) {
      MachineValue result = before;
      if (!scan_.exclusive) result = combined(before, sums[i]);
      if (scan_.exclusive && i > 0) result = combined(before, sums[i - 1]);
      if (base) result = b_.add(*base, result);
      const MachineValue is_lane =
          b_.eq(b_.lane_iota(DType::kI32, kLanes), b_.splat(b_.i32(static_cast<std::int32_t>(i)), kLanes));
      results = i == 0 ? b_.splat(result, kLanes) : b_.select(is_lane, b_.splat(result, kLanes), results);
    }
    store(position, positions, mask, narrow_to_stored(b_, results, stored));
    return combined(carried, threads.total);
  }

  /// Whether neighbours in scan order are neighbours in memory, in the same order.
  bool is_contiguous(const KernelTensor& tensor) const {
    return tensor.layout.strides[scan_.axis].is(1) && !scan_.reverse;
  }
  MachineValue offsets(const KernelTensor& tensor, MachineValue start, MachineValue positions) {
    const MachineValue last = b_.sub(b_.size(n_), b_.i64(1));
    const MachineValue places = scan_.reverse ? b_.sub(b_.splat(last, kLanes), positions) : positions;
    const MachineValue stride = b_.size(tensor.layout.strides[scan_.axis]);
    return b_.add(b_.splat(start, kLanes), b_.mul(places, b_.splat(stride, kLanes)));
  }

  MachineValue load(MachineValue position, MachineValue positions, MachineValue mask) {
    const MachineValue zero = b_.constant_int(register_dtype(scan_.input.type.dtype), 0);
    if (is_contiguous(scan_.input)) return b_.load_masked(input_, b_.add(from_, position), mask, zero);
    return b_.gather(input_, offsets(scan_.input, from_, positions), mask, zero);
  }

  void store(MachineValue position, MachineValue positions, MachineValue mask, MachineValue values) {
    if (is_contiguous(scan_.result)) return b_.store_masked(result_, b_.add(to_, position), mask, values);
    b_.scatter(result_, offsets(scan_.result, to_, positions), mask, values);
  }

  /// Writes the piece's total, combined from the value of each thread.
  void write_total(WorkgroupScan& scan, MachineValue mine) {
    const MachineValue total = scan.run(mine).total;
    when(b_, b_.eq(b_.thread_id(), b_.i32(0)), [&] { b_.store(totals_, b_.workgroup_id(), total); });
  }

  const ScanDescriptor& scan_;
  ScanPart part_;
  MachineBuilder b_;
  SizeExpr n_, rows_;
  DType accumulator_;
  SizePower threads_;  // per row
  PowerOfTwo width_;   // threads_, as a value in the kernel
  std::uint32_t subgroup_size_;
  MachineValue identity_;
  MemoryHandle input_, result_, totals_;
  MachineValue row_, first_, end_, loop_end_, from_, to_;  // i64
};

/// Plans and appends one kernel of the scan. Each kernel combines each element once, so its flops equal those of the
/// scan.
Status append_scan(KernelSequence& sequence, const ScanDescriptor& scan, ScanPart part,
                   std::vector<SequenceOperand> buffers, const Target& target, const LowerOptions& options) {
  const MachineKernel kernel = ScanBuilder(scan, part, target.spec().subgroup_size()).run();
  MILLRACE_TRY(append_kernel(sequence, kernel, std::move(buffers), target, options));
  sequence.kernels.back().kernel.flops = flops_of(scan);
  return {};
}

/// The condition under which one workgroup per row is enough.
SizeExpr margin_of_rows(const ScanDescriptor& scan) {
  return max(margin_of_at_most(scan.input.type.shape[scan.axis], kPieceElements),
             margin_of_at_least(num_rows(scan.input.type.shape, scan.axis), kManyRows));
}

}  // namespace

std::vector<RequestCase> gpu_scan_rows_cases(const KernelRequest& request, const TargetSpec&) {
  ScanDescriptor scan = std::get<ScanDescriptor>(request);
  const SizeExpr margin = margin_of_rows(scan);
  if (!always_holds(margin)) scan.name += "_rows";
  return {{margin, scan}};
}

Result<KernelSequence> lower_gpu_scan_rows(const KernelRequest& request, const Target& target,
                                           const LowerOptions& options) {
  const auto& scan = std::get<ScanDescriptor>(request);
  MILLRACE_TRY(check_scan(scan));
  const SizeExpr n = scan.input.type.shape[scan.axis], rows = num_rows(scan.input.type.shape, scan.axis);
  if (options.force_algorithm.empty() && never_holds(margin_of_rows(scan))) {
    return resource_exhausted(fmt::format("{} rows of {} elements, expected at most {} elements, or at least {} rows",
                                          rows.to_text(), n.to_text(), kPieceElements, kManyRows));
  }
  KernelSequence sequence;
  MILLRACE_TRY(append_scan(sequence, scan, ScanPart::kRow, operands_then_results(1, 1), target, options));
  return sequence;
}

Result<KernelSequence> lower_gpu_scan_pieces(const KernelRequest& request, const Target& target,
                                             const LowerOptions& options) {
  const auto& scan = std::get<ScanDescriptor>(request);
  MILLRACE_TRY(check_scan(scan));
  const Shape& shape = scan.input.type.shape;
  const Shape pieces{num_rows(shape, scan.axis), ceil_div(shape[scan.axis], kPieceElements)};
  const DType accumulator = body_dtype(scan.input.type.dtype);
  const auto tensor = [&](std::string name) {
    return KernelTensor{std::move(name), {accumulator, pieces}, Layout::row_major(pieces)};
  };
  const ScanDescriptor of_totals{.name = scan.name + "_totals",
                                 .input = tensor("totals"),
                                 .result = tensor("starts"),
                                 .axis = 1,
                                 .kind = scan.kind,
                                 .exclusive = true};
  const SizeExpr bytes = pieces[0] * pieces[1] * static_cast<std::int64_t>(size_bytes(accumulator));
  KernelSequence sequence;
  sequence.scratch = {{"totals", bytes}, {"starts", bytes}};
  using Kind = SequenceOperand::Kind;
  const SequenceOperand input{Kind::kOperand, 0}, result{Kind::kResult, 0}, totals{Kind::kScratch, 0},
      starts{Kind::kScratch, 1};
  MILLRACE_TRY(append_scan(sequence, scan, ScanPart::kReduce, {input, totals}, target, options));
  MILLRACE_TRY(append_scan(sequence, of_totals, ScanPart::kRow, {totals, starts}, target, options));
  MILLRACE_TRY(append_scan(sequence, scan, ScanPart::kPiece, {input, starts, result}, target, options));
  return sequence;
}

}  // namespace millrace
