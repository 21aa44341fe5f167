// SPDX-License-Identifier: Apache-2.0
// Rows that a workgroup holds at once, each read once, sorted in registers and workgroup memory, and written: as many
// short rows a workgroup as fill it.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/rows.h"
#include "jit/algorithms/sort_results.h"
#include "jit/algorithms/tile_sorter.h"

namespace millrace {
namespace {

constexpr std::int64_t kMostRecords = 4096;  // 48 KiB of the largest records

class TileSortBuilder {
 public:
  TileSortBuilder(const SortDescriptor& sort, std::uint32_t subgroup_size)
      : sort_(sort), b_(sort.name), records_(b_, sort) {
    const std::int64_t n = sort.input.type.shape[sort.axis].upper_bound();
    run_ = std::bit_ceil(static_cast<std::uint32_t>(std::max<std::int64_t>(n, 1)));
    num_records_ = std::max(run_, 512u);
    threads_ = {.num_threads = num_records_ == 512 ? 256 : num_records_ / 4, .subgroup_size = subgroup_size};
    b_.set_workgroup(threads_.num_threads, subgroup_size);
    input_ = b_.buffer(sort.input.name, sort.input.type.dtype, true, false);
    rows_ = num_rows(sort.input.type.shape, sort.axis);
  }

  MachineKernel run() {
    const std::int64_t rows_per_group = num_records_ / run_;
    b_.set_num_groups(ceil_div(rows_, rows_per_group));
    SortResults results(b_, sort_);
    first_row_ = b_.mul(b_.workgroup_id(), b_.i64(rows_per_group));
    TileSorter sorter(b_, records_, threads_);
    const auto fill = [&](MachineValue i) { return load_element(i); };
    if (run_ <= threads_.subgroup_size) {
      for_my_share(b_, num_records_, threads_.num_threads,
                   [&](MachineValue i) { write(results, i, sorter.sort_lanes(fill(i), run_)); });
      return b_.finish();
    }
    const RecordMemory memory = records_.in_workgroup_memory(num_records_);
    sorter.sort(memory, num_records_, run_, fill);
    for_my_share(b_, num_records_, threads_.num_threads,
                 [&](MachineValue i) { write(results, i, records_.load(memory, i)); });
    return b_.finish();
  }

 private:
  struct Place {
    MachineValue row;       // i64
    MachineValue position;  // in the row: i32
  };
  Place place_of(MachineValue i) {
    if (run_ == num_records_) return {first_row_, i};
    const auto row_bits = static_cast<std::int32_t>(std::countr_zero(run_));
    return {b_.add(first_row_, b_.convert(DType::kI64, b_.shr(i, b_.i32(row_bits)))),
            b_.bit_and(i, b_.i32(static_cast<std::int32_t>(run_ - 1)))};
  }

  /// Whether the place is one of the first `extent` of a row that there is.
  MachineValue is_there(const Place& place, const SizeExpr& extent) {
    const MachineValue is_inside = b_.lt(b_.convert(DType::kI64, place.position), b_.size(extent));
    return run_ == num_records_ ? is_inside : b_.bit_and(is_inside, b_.lt(place.row, b_.size(rows_)));
  }

  SortRecord load_element(MachineValue i) {
    const Place place = place_of(i);
    return records_.make_where(is_there(place, sort_.input.type.shape[sort_.axis]), [&] {
      const MachineValue start = row_start(b_, sort_.input, sort_.axis, place.row);
      const MachineValue position = b_.convert(DType::kI64, place.position);
      const MachineValue loaded = b_.load(input_, row_element(b_, sort_.input, sort_.axis, start, position));
      return records_.make(loaded, b_.convert(records_.index_dtype(), place.position));
    });
  }

  void write(SortResults& results, MachineValue i, const SortRecord& record) {
    const Place place = place_of(i);
    when(b_, is_there(place, sort_.k),
         [&] { results.write(input_, place.row, b_.convert(DType::kI64, place.position), records_.index_of(record)); });
  }

  const SortDescriptor& sort_;
  MachineBuilder b_;
  SortRecords records_;
  WorkgroupThreads threads_;
  std::uint32_t run_ = 1;            // places of a row, a power of two
  std::uint32_t num_records_ = 512;  // of a workgroup
  SizeExpr rows_;
  MemoryHandle input_;
  MachineValue first_row_;
};

}  // namespace

Result<KernelSequence> lower_gpu_tile_sort(const KernelRequest& request, const Target& target,
                                           const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (n.upper_bound() > kMostRecords) {
    return resource_exhausted(fmt::format("rows of {} elements; a workgroup holds {}", n.to_text(), kMostRecords));
  }
  KernelSequence sequence;
  MILLRACE_TRY(append_kernel(sequence, TileSortBuilder(sort, target.spec().subgroup_size()).run(),
                             operands_then_results(1, num_results(sort)), target, options));
  return sequence;
}

}  // namespace millrace
