// SPDX-License-Identifier: Apache-2.0
// Bottom-up merge sort of (key, index) records, one row per workgroup: O(n log n), stable, without branches on data.
// The passes alternate between two halves of memory: workgroup memory if both fit, otherwise scratch of the sequence.
#include <algorithm>
#include <bit>
#include <optional>

#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/sort/records.h"
#include "jit/algorithms/sort/results.h"

namespace millrace {
namespace {

/// Bytes of the records of a row: two halves.
SizeExpr row_bytes(const SortDescriptor& sort) {
  std::int64_t record_bytes = 0;
  for (const std::int64_t bytes : record_form_of(sort).word_bytes()) record_bytes += bytes;
  return sort.input.type.shape[sort.axis] * (2 * record_bytes);
}

class SortBuilder {
 public:
  SortBuilder(const SortDescriptor& sort, bool in_scratch)
      : sort_(sort), b_(sort.name), records_(b_, sort), in_scratch_(in_scratch) {
    input_ = b_.buffer(sort.input.name, sort.input.type.dtype, BufferAccess::kRead);
    results_.emplace(b_, sort);
    const SizeExpr& n = sort.input.type.shape[sort.axis];
    n_ = b_.size(n);
    if (in_scratch) {
      memory_ = records_.in_buffer(BufferAccess::kReadWrite);
    } else {
      memory_ = records_.in_workgroup_memory(static_cast<std::uint64_t>(std::max<std::int64_t>(2 * n.constant(), 1)));
    }
  }

  MachineKernel run() {
    b_.set_num_groups(num_rows(sort_.input.type.shape, sort_.axis));
    const MachineValue row = b_.workgroup_id();
    base_ = in_scratch_ ? b_.mul(row, b_.size(sort_.input.type.shape[sort_.axis] * 2)) : b_.i64(0);
    fill_records(row);
    const MachineValue sorted_half = merge_passes();
    for_each(b_, b_.i64(0), b_.size(sort_.k), b_.i64(1), [&](MachineValue i) {
      const SortRecord record = records_.load(memory_, place_of(sorted_half, i));
      results_->write(input_, row, i, records_.index_of(record));
    });
    return b_.finish();
  }

 private:
  /// Where record `position` of half 0 or 1 stands.
  MachineValue place_of(MachineValue half, MachineValue position) {
    return b_.add(b_.add(base_, b_.mul(half, n_)), position);
  }

  void fill_records(MachineValue row) {
    const MachineValue from = row_start(b_, sort_.input, sort_.axis, row);
    for_each(b_, b_.i64(0), n_, b_.i64(1), [&](MachineValue i) {
      const MachineValue loaded = b_.load(input_, row_element(b_, sort_.input, sort_.axis, from, i));
      records_.store(memory_, place_of(b_.i64(0), i), records_.make(loaded, b_.convert(records_.index_dtype(), i)));
    });
  }

  /// The passes until a run is a whole row: ceil(log2(n)).
  MachineValue num_passes() {
    const SizeExpr& n = sort_.input.type.shape[sort_.axis];
    if (n.is_constant()) {
      return b_.i64(n.constant() < 2 ? 0 : std::bit_width(static_cast<std::uint64_t>(n.constant() - 1)));
    }
    return b_.for_loop(b_.i64(0), b_.i64(62), b_.i64(1), {b_.i64(0)},
                       [&](MachineValue i, const MachineBuilder::Values& count) {
                         const MachineValue more = b_.lt(b_.shl(b_.i64(1), i), n_);
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
      for_each(b_, b_.i64(0), n_, b_.add(width, width),
               [&](MachineValue start) { merge_runs(start, width, {from, to}); });
      b_.barrier();
    });
    return b_.bit_and(passes, b_.i64(1));
  }

  struct Halves {
    MachineValue from;
    MachineValue to;
  };

  /// Merges the runs [start, mid) and [mid, end). A record past the end of its run is read (it is still in the row) but
  /// not taken.
  void merge_runs(MachineValue start, MachineValue width, Halves halves) {
    const MachineValue mid = b_.min(b_.add(start, width), n_);
    const MachineValue end = b_.min(b_.add(mid, width), n_);
    const MachineValue last = b_.sub(n_, b_.i64(1));
    b_.for_loop(start, end, b_.i64(1), {start, mid}, [&](MachineValue out, const MachineBuilder::Values& heads) {
      const MachineValue left = heads[0];
      const MachineValue right = heads[1];
      const SortRecord a = records_.load(memory_, place_of(halves.from, b_.min(left, last)));
      const SortRecord c = records_.load(memory_, place_of(halves.from, b_.min(right, last)));
      // Equal records do not occur when packed; otherwise equal keys keep the left run's.
      const MachineValue keep_order = b_.le(a.key, c.key);
      const MachineValue take_left = b_.bit_and(b_.lt(left, mid), b_.bit_or(b_.le(end, right), keep_order));
      records_.store(memory_, place_of(halves.to, out), records_.select(take_left, a, c));
      const MachineValue step = b_.convert(DType::kI64, take_left);
      return MachineBuilder::Values{b_.add(left, step), b_.add(right, b_.sub(b_.i64(1), step))};
    });
  }

  const SortDescriptor& sort_;
  MachineBuilder b_;
  SortRecords records_;
  bool in_scratch_;
  MemoryHandle input_;
  std::optional<SortResults> results_;
  RecordMemory memory_;
  MachineValue n_;
  MachineValue base_;
};

Result<KernelSequence> lower(const SortDescriptor& sort, bool in_scratch, const Target& target,
                             const LowerOptions& options) {
  KernelSequence sequence;
  std::vector<SequenceOperand> buffers = operands_then_results(1, num_results(sort));
  if (in_scratch) {
    const SizeExpr num_records = num_rows(sort.input.type.shape, sort.axis) * sort.input.type.shape[sort.axis] * 2;
    append_record_scratch(sequence, sort, num_records, buffers);
  }
  MILLRACE_TRY(append_kernel(sequence, SortBuilder(sort, in_scratch).run(), std::move(buffers), target, options));
  return sequence;
}

}  // namespace

Result<KernelSequence> lower_merge_sort(const KernelRequest& request, const Target& target,
                                        const LowerOptions& options) {
  const SortDescriptor& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  const SizeExpr bytes = row_bytes(sort);
  const std::uint64_t limit = memory_limits(target.spec()).workgroup_bytes;
  if (!bytes.is_constant()) {
    return unimplemented(fmt::format("rows of {} elements; workgroup memory is sized when the kernel is made",
                                     sort.input.type.shape[sort.axis].to_text()));
  }
  if (static_cast<std::uint64_t>(bytes.constant()) > limit) {
    return resource_exhausted(fmt::format("{} bytes of workgroup memory for a row of {}, {} has {}", bytes.constant(),
                                          sort.input.type.shape[sort.axis].to_text(), target.to_text(), limit));
  }
  return lower(sort, /*in_scratch=*/false, target, options);
}

Result<KernelSequence> lower_merge_sort_scratch(const KernelRequest& request, const Target& target,
                                                const LowerOptions& options) {
  const SortDescriptor& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  return lower(sort, /*in_scratch=*/true, target, options);
}

}  // namespace millrace
