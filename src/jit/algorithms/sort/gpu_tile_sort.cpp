// SPDX-License-Identifier: Apache-2.0
// Sorts rows that fit into one workgroup's registers and workgroup memory. Reads and writes each row once. A workgroup
// sorts as many short rows as fit.
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

constexpr std::int64_t kMaxRecords = 4096;          // per row; the largest records then take 48 KiB
constexpr std::int64_t kSmallTile = 512;            // records per workgroup for short rows
constexpr std::int64_t kRecordsPerThread = 4;       // for longer rows
constexpr std::int64_t kShortRecordsPerThread = 2;  // for short rows

class TileSortBuilder {
 public:
  TileSortBuilder(const SortDescriptor& sort, std::uint32_t subgroup_size)
      : sort_(sort), b_(sort.name), records_(b_, sort), rows_(num_rows(sort.input.type.shape, sort.axis)) {
    const SizeExpr& n = sort.input.type.shape[sort.axis];
    const bool is_small = n.upper_bound() <= kSmallTile;
    places_ = bit_ceil_of(n, kMaxRecords, is_small ? 0 : std::countr_zero(2 * std::uint64_t{kSmallTile}));
    has_many_rows_ = is_small && !places_.value.is(kSmallTile);
    const std::int64_t known = places_.value.is_constant() ? places_.maximum() / kRecordsPerThread : kSmallTile;
    const std::int64_t num_threads = is_small ? kSmallTile / kShortRecordsPerThread : known;
    threads_ = {.num_threads = static_cast<std::uint32_t>(num_threads), .subgroup_size = subgroup_size};
    b_.set_workgroup(threads_.num_threads, subgroup_size);
    input_ = b_.buffer(sort.input.name, sort.input.type.dtype, BufferAccess::kRead);
  }

  MachineKernel run() {
    SortResults results(b_, sort_);
    run_ = places_.in_kernel(b_);
    const TileExtents extents{.run = run_, .num_records = has_many_rows_ ? PowerOfTwo{kSmallTile} : run_};
    place_rows();
    TileSorter sorter(b_, records_, threads_, extents);
    const auto fill = [&](MachineValue i) { return load_element(i); };
    if (run_.maximum <= threads_.subgroup_size) {
      for_my_share(b_, extents.num_records, threads_.num_threads,
                   [&](MachineValue i) { write(results, i, sorter.sort_lanes(fill(i))); });
      return b_.finish();
    }
    const RecordMemory memory = records_.in_workgroup_memory(extents.num_records.maximum);
    sorter.sort(memory, fill);
    for_my_share(b_, extents.num_records, threads_.num_threads,
                 [&](MachineValue i) { write(results, i, records_.load(memory, i)); });
    return b_.finish();
  }

 private:
  /// Assigns rows to the workgroup: as many short rows as its tile has places for, or one long row.
  void place_rows() {
    first_row_ = b_.workgroup_id();
    b_.set_num_groups(rows_);
    if (!has_many_rows_) return;
    b_.set_num_groups(ceil_div(rows_ * places_.value, kSmallTile));
    first_row_ = b_.mul(first_row_, b_.size(floor_div(kSmallTile, max(places_.value, 1))));
    row_bits_ = log2_of(b_, run_);
    last_position_ = i32_size(b_, places_.value - 1);
  }

  struct Place {
    MachineValue row;       // i64
    MachineValue position;  // in the row, i32
  };
  Place place_of(MachineValue i) {
    if (!has_many_rows_) return {first_row_, i};
    return {b_.add(first_row_, b_.convert(DType::kI64, b_.shr(i, row_bits_))), b_.bit_and(i, last_position_)};
  }

  /// Whether the place is one of the first `extent` places of an existing row.
  MachineValue is_there(const Place& place, const SizeExpr& extent) {
    const MachineValue is_inside = b_.lt(b_.convert(DType::kI64, place.position), b_.size(extent));
    return has_many_rows_ ? b_.bit_and(is_inside, b_.lt(place.row, b_.size(rows_))) : is_inside;
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
  SizeExpr rows_;
  bool has_many_rows_ = false;
  SizePower places_;  // per row
  WorkgroupThreads threads_;
  PowerOfTwo run_;  // places_, as a value in the kernel
  MemoryHandle input_;
  MachineValue first_row_;
  MachineValue row_bits_, last_position_;  // i32, within a run; only if a workgroup has many rows
};

}  // namespace

std::vector<RequestCase> gpu_tile_sort_cases(const KernelRequest& request, const TargetSpec&) {
  const auto& sort = std::get<SortDescriptor>(request);
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  return {sort_case(margin_of_at_most(n, kSmallTile), sort, {.n = kSmallTile}, "_tile"),
          sort_case(margin_of_at_most(n, kMaxRecords), sort, {.n = kMaxRecords}, "_large_tile")};
}

Result<KernelSequence> lower_gpu_tile_sort(const KernelRequest& request, const Target& target,
                                           const LowerOptions& options) {
  const auto& sort = std::get<SortDescriptor>(request);
  MILLRACE_TRY(check_sort(sort));
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (n.upper_bound() > kMaxRecords) {
    return resource_exhausted(
        fmt::format("rows of {} elements, expected at most {} per workgroup", n.to_text(), kMaxRecords));
  }
  KernelSequence sequence;
  MILLRACE_TRY(append_kernel(sequence, TileSortBuilder(sort, target.spec().subgroup_size()).run(),
                             operands_then_results(1, num_results(sort)), target, options));
  return sequence;
}

}  // namespace millrace
