// SPDX-License-Identifier: Apache-2.0
// A few of many short rows: a row a subgroup, held in its registers. Each round finds the first record of all and takes
// it out. No workgroup memory, no barrier; each element is read once.
#include <bit>

#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/sort_records.h"
#include "jit/algorithms/sort_results.h"

namespace millrace {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::int64_t kMostElements = 16;  // of a lane
constexpr std::int64_t kMostRounds = 16;    // beyond, a sort is as fast

class TopKLanesBuilder {
 public:
  TopKLanesBuilder(const SortDescriptor& sort, std::uint32_t subgroup_size)
      : sort_(sort), b_(sort.name), records_(b_, sort), subgroup_size_(subgroup_size) {
    b_.set_workgroup(kThreads, subgroup_size);
    input_ = b_.buffer(sort.input.name, sort.input.type.dtype, true, false);
  }

  MachineKernel run() {
    const SizeExpr rows = num_rows(sort_.input.type.shape, sort_.axis);
    const std::int64_t rows_of_group = kThreads / subgroup_size_;
    b_.set_num_groups(ceil_div(rows, rows_of_group));
    SortResults results(b_, sort_);
    row_ = b_.mul_add(b_.workgroup_id(), b_.i64(rows_of_group), b_.convert(DType::kI64, b_.subgroup_id()));
    has_row_ = b_.lt(row_, b_.size(rows));
    lane_ = b_.lane_id();
    const SortRecord mine = select_rounds(load_row());
    const MachineValue position = b_.convert(DType::kI64, lane_);
    when(b_, b_.bit_and(has_row_, b_.lt(position, b_.size(sort_.k))),
         [&] { results.write(input_, row_, position, records_.index_of(mine)); });
    return b_.finish();
  }

 private:
  using Row = std::vector<SortRecord>;  // a lane's part

  Row load_row() {
    const SizeExpr& n = sort_.input.type.shape[sort_.axis];
    const MachineValue start = row_start(b_, sort_.input, sort_.axis, row_);
    Row row;
    for (std::int64_t first = 0; first < n.upper_bound(); first += subgroup_size_) {
      const MachineValue i = b_.add(lane_, b_.i32(static_cast<std::int32_t>(first)));
      const MachineValue position = b_.convert(DType::kI64, i);
      row.push_back(records_.make_where(b_.bit_and(has_row_, b_.lt(position, b_.size(n))), [&] {
        const MachineValue loaded = b_.load(input_, row_element(b_, sort_.input, sort_.axis, start, position));
        return records_.make(loaded, b_.convert(records_.index_dtype(), i));
      }));
    }
    return row;
  }

  /// Lane i gets the record that comes at place i, for i < k.
  SortRecord select_rounds(const Row& row) {
    MachineBuilder::Values initial = records_.words_of(records_.last());
    for (const SortRecord& record : row) {
      for (const MachineValue word : records_.words_of(record)) initial.push_back(word);
    }
    const MachineValue rounds = b_.convert(DType::kI32, b_.size(sort_.k));
    const auto selected = b_.for_loop(b_.i32(0), rounds, b_.i32(1), initial,
                                      [&](MachineValue round, const auto& words) { return select_one(round, words); });
    return records_.record_at(selected, 0);
  }

  MachineBuilder::Values select_one(MachineValue round, const MachineBuilder::Values& words) {
    const std::size_t count = words.size() / records_.num_words();
    SortRecord first = records_.record_at(words, 1);
    for (std::size_t i = 2; i < count; ++i) first = earlier(records_.record_at(words, i), first);
    for (std::uint32_t mask = subgroup_size_ / 2; mask > 0; mask /= 2) {
      first = earlier(records_.shuffle_xor(first, mask), first);
    }
    auto next = records_.words_of(records_.select(b_.eq(lane_, round), first, records_.record_at(words, 0)));
    for (std::size_t i = 1; i < count; ++i) {
      const SortRecord record = records_.record_at(words, i);
      const SortRecord left = records_.select(records_.is_same(record, first), records_.last(), record);
      for (const MachineValue word : records_.words_of(left)) next.push_back(word);
    }
    return next;
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
};

}  // namespace

Result<KernelSequence> lower_gpu_topk_lanes(const KernelRequest& request, const Target& target,
                                            const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const std::uint32_t subgroup_size = target.spec().subgroup_size();
  const std::int64_t most = kMostElements * subgroup_size;
  if (sort.k.upper_bound() > kMostRounds || n.upper_bound() > most) {
    return resource_exhausted(fmt::format("{} of rows of {} elements; a subgroup selects up to {} of up to {}",
                                          sort.k.to_text(), n.to_text(), kMostRounds, most));
  }
  if (options.force_algorithm.empty() && n.upper_bound() <= subgroup_size) {
    return unimplemented(fmt::format("rows of {} elements; {} lanes sort them at once", n.to_text(), subgroup_size));
  }
  KernelSequence sequence;
  MILLRACE_TRY(append_kernel(sequence, TopKLanesBuilder(sort, subgroup_size).run(),
                             operands_then_results(1, num_results(sort)), target, options));
  return sequence;
}

}  // namespace millrace
