// SPDX-License-Identifier: Apache-2.0
// TopK of many short rows with a small k. A subgroup holds a row in its registers. Each of k rounds finds the record
// that follows the one found before. Needs no workgroup memory and no barrier; reads each element once.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/size_margin.h"
#include "jit/algorithms/sort/records.h"
#include "jit/algorithms/sort/results.h"

namespace millrace {
namespace {

constexpr std::uint32_t kThreads = 256;             // per workgroup
constexpr std::int64_t kMaxElementsPerThread = 16;  // that fit in registers
constexpr std::int64_t kMaxRounds = 16;             // one result per round; with more rounds, a sort is as fast
/// A thread's places for records are handled in groups of this size. A branch skips each group that lies past the end
/// of the row.
constexpr std::size_t kPlacesTogether = 2;

class TopKLanesBuilder {
 public:
  TopKLanesBuilder(const SortDescriptor& sort, std::uint32_t subgroup_size)
      : sort_(sort), b_(sort.name), records_(b_, sort), subgroup_size_(subgroup_size) {
    b_.set_workgroup(kThreads, subgroup_size);
    input_ = b_.buffer(sort.input.name, sort.input.type.dtype, BufferAccess::kRead);
  }

  MachineKernel run() {
    const SizeExpr rows = num_rows(sort_.input.type.shape, sort_.axis);
    const std::int64_t rows_of_group = kThreads / subgroup_size_;
    b_.set_num_groups(ceil_div(rows, rows_of_group));
    SortResults results(b_, sort_);
    row_ = b_.mul_add(b_.workgroup_id(), b_.i64(rows_of_group), b_.convert(DType::kI64, b_.subgroup_id()));
    has_row_ = b_.lt(row_, b_.size(rows));
    lane_ = b_.lane_id();
    find_places();
    const SortRecord mine = select_rounds(load_row());
    const MachineValue position = b_.convert(DType::kI64, lane_);
    when(b_, b_.bit_and(has_row_, b_.lt(position, b_.size(sort_.k))),
         [&] { results.write(input_, row_, position, records_.index_of(mine)); });
    return b_.finish();
  }

 private:
  using Row = std::vector<SortRecord>;  // the records of one thread

  /// Determines, for each group of places except the first, whether the row is long enough to have elements there. The
  /// list stays empty if the row's length is constant.
  void find_places() {
    const SizeExpr& n = sort_.input.type.shape[sort_.axis];
    num_places_ = static_cast<std::size_t>((n.upper_bound() + subgroup_size_ - 1) / subgroup_size_);
    if (n.is_constant()) return;
    for (std::size_t i = kPlacesTogether; i < num_places_; i += kPlacesTogether) {
      has_places_from_.push_back(b_.lt(b_.i64(static_cast<std::int64_t>(i * subgroup_size_)), b_.size(n)));
    }
  }
  bool is_bound_late() const { return !has_places_from_.empty(); }
  std::size_t end_of_places(std::size_t first) const {
    return is_bound_late() ? std::min(first + kPlacesTogether, num_places_) : num_places_;
  }
  MachineValue has_places_from(std::size_t first) const { return has_places_from_[first / kPlacesTogether - 1]; }

  Row load_row() {
    const MachineValue start = row_start(b_, sort_.input, sort_.axis, row_);
    Row row;
    for (std::size_t first = 0; first < num_places_; first = end_of_places(first)) {
      const auto load = [&] { return load_places(start, first, end_of_places(first)); };
      const auto words = first == 0 ? load() : b_.if_else(has_places_from(first), load, [&] {
        return nothing_in(end_of_places(first) - first);
      });
      for (std::size_t i = 0; i < end_of_places(first) - first; ++i) row.push_back(records_.record_at(words, i));
    }
    return row;
  }
  MachineBuilder::Values load_places(MachineValue start, std::size_t first, std::size_t end) {
    const SizeExpr& n = sort_.input.type.shape[sort_.axis];
    MachineBuilder::Values words;
    for (std::size_t place = first; place < end; ++place) {
      const MachineValue i = b_.add(lane_, b_.i32(static_cast<std::int32_t>(place * subgroup_size_)));
      const MachineValue position = b_.convert(DType::kI64, i);
      const SortRecord record = records_.make_where(b_.bit_and(has_row_, b_.lt(position, b_.size(n))), [&] {
        const MachineValue loaded = b_.load(input_, row_element(b_, sort_.input, sort_.axis, start, position));
        return records_.make(loaded, b_.convert(records_.index_dtype(), i));
      });
      append(words, record);
    }
    return words;
  }
  MachineBuilder::Values nothing_in(std::size_t num_places) {
    MachineBuilder::Values words;
    for (std::size_t i = 0; i < num_places; ++i) append(words, records_.last());
    return words;
  }
  void append(MachineBuilder::Values& words, const SortRecord& record) {
    for (const MachineValue word : records_.words_of(record)) words.push_back(word);
  }

  /// Returns to thread i the i-th record, for i < k.
  SortRecord select_rounds(const Row& row) {
    MachineBuilder::Values initial = records_.words_of(records_.last());
    append(initial, records_.first());
    const MachineValue rounds = b_.convert(DType::kI32, b_.size(sort_.k));
    const auto selected =
        b_.for_loop(b_.i32(0), rounds, b_.i32(1), initial, [&](MachineValue round, const auto& words) {
          const SortRecord next = select_one(row, records_.record_at(words, 1));
          auto kept = records_.words_of(records_.select(b_.eq(lane_, round), next, records_.record_at(words, 0)));
          append(kept, records_.after(next));
          return kept;
        });
    return records_.record_at(selected, 0);
  }

  /// The first record of the row that is not before `lower_bound`. All records selected so far come before
  /// `lower_bound`.
  SortRecord select_one(const Row& row, const SortRecord& lower_bound) {
    SortRecord first = first_of_lane(row, 0, records_.last(), lower_bound);
    for (std::uint32_t mask = subgroup_size_ / 2; mask > 0; mask /= 2) {
      first = earlier(records_.shuffle_xor(first, mask), first);
    }
    return first;
  }
  /// The earliest of `first` and this thread's records from place `i` on. Records before `lower_bound` are ignored.
  SortRecord first_of_lane(const Row& row, std::size_t i, SortRecord first, const SortRecord& lower_bound) {
    for (const std::size_t end = end_of_places(i); i < end; ++i) {
      const SortRecord left = records_.select(records_.is_before(row[i], lower_bound), records_.last(), row[i]);
      first = i == 0 ? left : earlier(left, first);
    }
    if (i == num_places_) return first;
    const auto words = b_.if_else(
        has_places_from(i), [&] { return records_.words_of(first_of_lane(row, i, first, lower_bound)); },
        [&] { return records_.words_of(first); });
    return records_.record_at(words, 0);
  }

  SortRecord earlier(const SortRecord& a, const SortRecord& c) {
    return records_.select(records_.is_before(a, c), a, c);
  }

  const SortDescriptor& sort_;
  MachineBuilder b_;
  SortRecords records_;
  std::uint32_t subgroup_size_;
  MemoryHandle input_;
  MachineValue row_, has_row_, lane_;
  std::size_t num_places_ = 0;  // per thread
  std::vector<MachineValue> has_places_from_;
};

}  // namespace

std::vector<RequestCase> gpu_topk_lanes_cases(const KernelRequest& request, const TargetSpec& spec) {
  const auto& sort = std::get<SortDescriptor>(request);
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const std::int64_t max_elements = kMaxElementsPerThread * spec.subgroup_size();
  const SizeExpr is_few = margin_of_at_most(sort.k, kMaxRounds);
  const SizeExpr is_long = margin_of_at_least(n, spec.subgroup_size() + 1);
  const SizeExpr margin = margin_of_both(margin_of_both(is_few, is_long), margin_of_at_most(n, max_elements));
  return {sort_case(margin, sort, {.n = max_elements, .k = kMaxRounds}, "_lanes")};
}

Result<KernelSequence> lower_gpu_topk_lanes(const KernelRequest& request, const Target& target,
                                            const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const std::uint32_t subgroup_size = target.spec().subgroup_size();
  const std::int64_t max_elements = kMaxElementsPerThread * subgroup_size;
  if (sort.k.upper_bound() > kMaxRounds || n.upper_bound() > max_elements) {
    return resource_exhausted(
        fmt::format("the first {} of {} elements per row, expected at most {} of at most {} per subgroup",
                    sort.k.to_text(), n.to_text(), kMaxRounds, max_elements));
  }
  if (options.force_algorithm.empty() && n.upper_bound() <= subgroup_size) {
    return unimplemented(fmt::format("rows of {} elements, expected more than the {} that a subgroup sorts at once",
                                     n.to_text(), subgroup_size));
  }
  KernelSequence sequence;
  MILLRACE_TRY(append_kernel(sequence, TopKLanesBuilder(sort, subgroup_size).run(),
                             operands_then_results(1, num_results(sort)), target, options));
  return sequence;
}

}  // namespace millrace
