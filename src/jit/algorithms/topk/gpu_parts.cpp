// SPDX-License-Identifier: Apache-2.0
// Finds the first k of long rows. A workgroup reads its part of a row once. It appends records that come before the
// k-th record so far to its memory. When the memory is full, it sorts the records and drops all except the first k.
// Another kernel does the same with the records kept for the parts of a row.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/sort/results.h"
#include "jit/algorithms/sort/tile_sorter.h"

namespace millrace {
namespace {

constexpr std::uint32_t kThreads = 512;              // per workgroup; 256 would need twice the code (commit 4c5bcf93)
constexpr std::uint32_t kStep = 1024;                // elements between two barriers
constexpr std::int64_t kMaxKept = 2048;              // records kept per row or part
constexpr std::int64_t kMaxPlaces = 4096;            // per workgroup: for kept records and one step
constexpr std::int64_t kMinElementsPerGroup = 4096;  // smaller parts cost more than they save
constexpr std::int64_t kMaxGroups = 64;              // over all rows; merging more parts costs more than they save

/// The input and output of a kernel.
enum class TopKPart : std::uint8_t {
  kRow,    // reads a row, writes the results
  kPart,   // reads a part of a row, writes the records that it keeps, sorted
  kMerge,  // reads the records kept for a row's parts, writes the results
};

std::string kernel_name(const SortDescriptor& sort, TopKPart part) {
  constexpr std::string_view kSteps[] = {"", "_part", "_merge"};
  return fmt::format("{}{}", sort.name, kSteps[static_cast<std::size_t>(part)]);
}

/// 1 if rows are cut into parts, otherwise 0.
SizeExpr has_parts(const SizeExpr& num_parts) { return indicator(margin_of_at_least(num_parts, 2)); }

class TopKPartsBuilder {
 public:
  TopKPartsBuilder(const SortDescriptor& sort, TopKPart part, const SizeExpr& num_parts, std::uint32_t subgroup_size)
      : sort_(sort),
        part_(part),
        num_parts_(num_parts),
        b_(kernel_name(sort, part)),
        records_(b_, sort),
        num_kept_(max(sort.k, 1)),
        num_places_(bit_ceil_of(num_kept_ + kStep, kMaxPlaces, std::countr_zero(2 * kStep))),
        threads_{.num_threads = kThreads, .subgroup_size = subgroup_size} {
    b_.set_workgroup(threads_.num_threads, subgroup_size);
    if (part != TopKPart::kMerge || sort.values) {
      input_ = b_.buffer(sort.input.name, sort.input.type.dtype, BufferAccess::kRead);
    }
    if (part == TopKPart::kPart) parts_ = records_.in_buffer(BufferAccess::kWrite);
    if (part == TopKPart::kMerge) parts_ = records_.in_buffer(BufferAccess::kRead);
    memory_ = records_.in_workgroup_memory(num_places_.maximum());
    count_ = b_.workgroup_memory(DType::kI32, 1, "count");
  }

  MachineKernel run() {
    place_part();
    when(b_, b_.eq(b_.thread_id(), b_.i32(0)), [&] { b_.store(count_, b_.i32(0), b_.i32(0)); });
    b_.barrier();
    // An empty part also runs one iteration, which fills its places with padding records.
    const MachineValue end = b_.max(end_, b_.add(first_, b_.i64(1)));
    places_ = num_places_.in_kernel(b_);
    room_ = b_.sub(value_of(b_, places_), b_.i32(kStep));
    TileSorter sorter(b_, records_, threads_, {.run = places_, .num_records = places_});
    b_.for_loop(first_, end, b_.i64(kStep), records_.words_of(records_.last()),
                [&](MachineValue at, const MachineBuilder::Values& threshold) {
                  append_step(at, records_.record_at(threshold, 0));
                  const MachineValue is_end = b_.le(end, b_.add(at, b_.i64(kStep)));
                  return records_.words_of(keep_first(sorter, records_.record_at(threshold, 0), is_end));
                });
    write_kept();
    return b_.finish();
  }

 private:
  /// Determines the row, and its part [first, end).
  void place_part() {
    const SizeExpr rows = num_rows(sort_.input.type.shape, sort_.axis);
    const SizeExpr& n = sort_.input.type.shape[sort_.axis];
    const MachineValue group = b_.workgroup_id();
    first_ = b_.i64(0);
    row_ = group;
    if (part_ == TopKPart::kPart) {
      b_.set_num_groups(rows * num_parts_ * has_parts(num_parts_));
      if (!rows.is(1)) row_ = b_.div(group, b_.size(num_parts_));
      const MachineValue number = rows.is(1) ? group : b_.rem(group, b_.size(num_parts_));
      if (rows.is(1)) row_ = b_.i64(0);
      const MachineValue share = b_.size(ceil_div(n, num_parts_));
      first_ = b_.mul(number, share);
      end_ = b_.min(b_.size(n), b_.add(first_, share));
    } else {
      const SizeExpr has = has_parts(num_parts_);
      b_.set_num_groups(rows * (part_ == TopKPart::kRow ? indicator(margin_of_at_most(num_parts_, 1)) : has));
      end_ = b_.size(part_ == TopKPart::kRow ? n : num_parts_ * sort_.k);
    }
    if (part_ == TopKPart::kMerge) {
      start_ = b_.mul(row_, end_);
    } else {
      start_ = row_start(b_, sort_.input, sort_.axis, row_);
    }
  }

  SortRecord load_record(MachineValue position) {
    if (part_ == TopKPart::kMerge) return records_.load(parts_, b_.add(start_, position));
    const MachineValue loaded = b_.load(input_, row_element(b_, sort_.input, sort_.axis, start_, position));
    return records_.make(loaded, b_.convert(records_.index_dtype(), position));
  }

  /// Reads the next kStep elements, and appends those that come before the threshold to the kept records.
  void append_step(MachineValue at, const SortRecord& threshold) {
    for_my_share(b_, kStep, threads_.num_threads, [&](MachineValue i) {
      const MachineValue position = b_.add(at, b_.convert(DType::kI64, i));
      when(b_, b_.lt(position, end_), [&] {
        const SortRecord record = load_record(position);
        when(b_, records_.is_before(record, threshold),
             [&] { records_.store(memory_, b_.atomic(KernelOp::kAtomicAdd, count_, b_.i32(0), b_.i32(1)), record); });
      });
    });
  }

  /// After the last step, or if the next step might not fit, sorts the records and drops all except the first k.
  /// Returns the new threshold.
  SortRecord keep_first(TileSorter& sorter, const SortRecord& threshold, MachineValue is_end) {
    b_.barrier();
    // Both sides of the branch below contain barriers, so it must be uniform. The broadcast makes it so.
    const MachineValue count = b_.broadcast(b_.load(count_, b_.i32(0)), 0);
    const auto sorted = [&] {
      sorter.sort(memory_, [&](MachineValue i) {
        return records_.make_where(b_.lt(i, count), [&] { return records_.load(memory_, i); });
      });
      const MachineValue kept = i32_size(b_, num_kept_);
      when(b_, b_.eq(b_.thread_id(), b_.i32(0)), [&] { b_.store(count_, b_.i32(0), kept); });
      b_.barrier();
      return records_.words_of(records_.load(memory_, b_.sub(kept, b_.i32(1))));
    };
    const auto unchanged = [&] {
      b_.barrier();
      return records_.words_of(threshold);
    };
    return records_.record_at(b_.if_else(b_.bit_or(is_end, b_.lt(room_, count)), sorted, unchanged), 0);
  }

  void write_kept() {
    const MachineValue k = b_.size(sort_.k);
    std::optional<SortResults> results;
    if (part_ != TopKPart::kPart) results.emplace(b_, sort_);
    for_each(b_, b_.convert(DType::kI64, b_.thread_id()), k, b_.i64(threads_.num_threads), [&](MachineValue position) {
      const SortRecord record = records_.load(memory_, b_.convert(DType::kI32, position));
      if (results) return results->write(input_, row_, position, records_.index_of(record));
      records_.store(parts_, b_.mul_add(b_.workgroup_id(), k, position), record);
    });
  }

  const SortDescriptor& sort_;
  TopKPart part_;
  SizeExpr num_parts_;  // per row
  MachineBuilder b_;
  SortRecords records_;
  SizeExpr num_kept_;
  SizePower num_places_;
  WorkgroupThreads threads_;
  MemoryHandle input_, count_;
  RecordMemory parts_, memory_;
  MachineValue row_, first_, end_, start_;  // i64
  PowerOfTwo places_;                       // num_places_, as a value in the kernel
  MachineValue room_;                       // the maximum number of records that leaves room for one more step: i32
};

/// The number of parts per row: enough to keep a GPU busy, but few enough to merge cheaply.
SizeExpr parts_of_row(const SortDescriptor& sort) {
  const SizeExpr rows = num_rows(sort.input.type.shape, sort.axis);
  const SizeExpr max_parts = max(floor_div(kMaxGroups, max(rows, 1)), 1);
  return max(min(ceil_div(sort.input.type.shape[sort.axis], kMinElementsPerGroup), max_parts), 1);
}

}  // namespace

std::vector<RequestCase> gpu_topk_parts_cases(const KernelRequest& request, const TargetSpec&) {
  constexpr std::int64_t kMaxI32 = std::numeric_limits<std::int32_t>::max();  // up to here, indices of 32 bits suffice
  const auto& sort = std::get<SortDescriptor>(request);
  const SizeExpr is_few = margin_of_at_most(sort.k, kMaxKept);
  const SizeExpr is_narrow = margin_of_at_most(sort.input.type.shape[sort.axis], kMaxI32);
  return {sort_case(margin_of_both(is_few, is_narrow), sort, {.n = kMaxI32, .k = kMaxKept}, "_few"),
          sort_case(is_few, sort, {.k = kMaxKept}, "_long")};
}

Result<KernelSequence> lower_gpu_topk_parts(const KernelRequest& request, const Target& target,
                                            const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  if (sort.k.upper_bound() > kMaxKept) {
    return resource_exhausted(
        fmt::format("the first {} of a row, expected at most {} per workgroup", sort.k.to_text(), kMaxKept));
  }
  const std::uint32_t subgroup_size = target.spec().subgroup_size();
  const SizeExpr parts = parts_of_row(sort);
  const auto kernel = [&](TopKPart part) { return TopKPartsBuilder(sort, part, parts, subgroup_size).run(); };
  KernelSequence sequence;
  if (parts.lower_bound() <= 1) {
    MILLRACE_TRY(
        append_kernel(sequence, kernel(TopKPart::kRow), operands_then_results(1, num_results(sort)), target, options));
  }
  if (parts.is(1)) return sequence;
  const SizeExpr num_records = num_rows(sort.input.type.shape, sort.axis) * parts * has_parts(parts) * sort.k;
  const std::vector<SequenceOperand> results = operands_then_results(0, num_results(sort));
  const SequenceOperand input{SequenceOperand::Kind::kOperand, 0};
  std::vector<SequenceOperand> kept, of_part{input}, of_merge;
  append_record_scratch(sequence, sort, num_records, kept);
  if (sort.values) of_merge.push_back(input);
  of_part.insert(of_part.end(), kept.begin(), kept.end());
  of_merge.insert(of_merge.end(), kept.begin(), kept.end());
  of_merge.insert(of_merge.end(), results.begin(), results.end());
  MILLRACE_TRY(append_kernel(sequence, kernel(TopKPart::kPart), std::move(of_part), target, options));
  MILLRACE_TRY(append_kernel(sequence, kernel(TopKPart::kMerge), std::move(of_merge), target, options));
  // The merge reads from the input only the values of its results.
  if (sort.values) sequence.kernels.back().traffic[0].read_bytes = size_bytes(sort.values->type);
  return sequence;
}

}  // namespace millrace
