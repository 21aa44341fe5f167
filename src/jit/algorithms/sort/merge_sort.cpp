// SPDX-License-Identifier: Apache-2.0
// Bottom-up merge sort of (key, index) records, one row per workgroup: O(n log n), stable, without branches on data.
// The passes alternate between two halves of memory: workgroup memory if both fit, otherwise scratch of the sequence.
#include <bit>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/sort/row_halves.h"

namespace millrace {
namespace {

class SortBuilder {
 public:
  SortBuilder(const SortDescriptor& sort, bool in_scratch) : sort_(sort), b_(sort.name), row_(b_, sort, in_scratch) {}

  MachineKernel run() {
    for_each(b_, b_.i64(0), row_.n(), b_.i64(1), [&](MachineValue i) { row_.store(b_.i64(0), i, row_.make(i)); });
    row_.write_results(merge_passes());
    return b_.finish();
  }

 private:
  /// The number of passes until a run is a whole row: ceil(log2(n)).
  MachineValue num_passes() {
    const SizeExpr& n = sort_.input.type.shape[sort_.axis];
    if (n.is_constant()) {
      return b_.i64(n.constant() < 2 ? 0 : std::bit_width(static_cast<std::uint64_t>(n.constant() - 1)));
    }
    return b_.for_loop(b_.i64(0), b_.i64(62), b_.i64(1), {b_.i64(0)},
                       [&](MachineValue i, const MachineBuilder::Values& count) {
                         const MachineValue more = b_.lt(b_.shl(b_.i64(1), i), row_.n());
                         return MachineBuilder::Values{b_.add(count[0], b_.convert(DType::kI64, more))};
                       })[0];
  }

  /// Merges runs of doubling width, alternating between the halves. Returns the half that the last pass wrote.
  MachineValue merge_passes() {
    const MachineValue passes = num_passes();
    for_each(b_, b_.i64(0), passes, b_.i64(1), [&](MachineValue pass) {
      const MachineValue width = b_.shl(b_.i64(1), pass);
      const MachineValue from = b_.bit_and(pass, b_.i64(1));
      const MachineValue to = b_.sub(b_.i64(1), from);
      for_each(b_, b_.i64(0), row_.n(), b_.add(width, width),
               [&](MachineValue start) { merge_runs(start, width, {from, to}); });
      b_.barrier();
    });
    return b_.bit_and(passes, b_.i64(1));
  }

  struct Halves {
    MachineValue from;
    MachineValue to;
  };

  /// Merges the runs [start, mid) and [mid, end). When one run is used up, the loop still loads the record after it, or
  /// the row's last record, but does not store it.
  void merge_runs(MachineValue start, MachineValue width, Halves halves) {
    const MachineValue mid = b_.min(b_.add(start, width), row_.n());
    const MachineValue end = b_.min(b_.add(mid, width), row_.n());
    const MachineValue last = b_.sub(row_.n(), b_.i64(1));
    b_.for_loop(start, end, b_.i64(1), {start, mid}, [&](MachineValue out, const MachineBuilder::Values& heads) {
      const MachineValue left = heads[0];
      const MachineValue right = heads[1];
      const SortRecord a = row_.load(halves.from, b_.min(left, last));
      const SortRecord c = row_.load(halves.from, b_.min(right, last));
      // Packed records are never equal. Other records with equal keys keep their order: the record of the left run
      // comes first.
      const MachineValue keep_order = b_.le(a.key, c.key);
      const MachineValue take_left = b_.bit_and(b_.lt(left, mid), b_.bit_or(b_.le(end, right), keep_order));
      row_.store(halves.to, out, row_.records().select(take_left, a, c));
      const MachineValue step = b_.convert(DType::kI64, take_left);
      return MachineBuilder::Values{b_.add(left, step), b_.add(right, b_.sub(b_.i64(1), step))};
    });
  }

  const SortDescriptor& sort_;
  MachineBuilder b_;
  RowHalves row_;
};

}  // namespace

Result<KernelSequence> lower_merge_sort(const KernelRequest& request, const Target& target,
                                        const LowerOptions& options) {
  const SortDescriptor& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  const bool in_scratch = !fits_workgroup(row_halves_bytes(sort), target.spec());
  return lower_row_halves(sort, SortBuilder(sort, in_scratch).run(), in_scratch, target, options);
}

}  // namespace millrace
