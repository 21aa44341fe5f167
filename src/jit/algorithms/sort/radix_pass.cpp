// SPDX-License-Identifier: Apache-2.0
// The first two kernels of a GPU radix pass: one counts the digits of each block, the other scans the counts. The third
// is in radix_scatter.cpp.
#include "jit/algorithms/sort/radix_pass.h"

#include <limits>

#include "jit/algorithms/sort/radix_pass_builder.h"

namespace millrace {
namespace {

class CountBuilder : RadixPassBuilder {
 public:
  using RadixPassBuilder::RadixPassBuilder;

  RadixKernel run() {
    read_elements();
    const MemoryHandle counts = buffer("counts", count_, scratch_.counts, BufferAccess::kWrite);
    const MemoryHandle of_block = count_block();
    for_my_digit([&] {
      const MachineValue count = b_.convert(count_, b_.load(of_block, b_.thread_id()));
      b_.store(counts, place_of_count(row_digit()), count);
    });
    return finish();
  }
};

class ScanBuilder : RadixPassBuilder {
 public:
  using RadixPassBuilder::RadixPassBuilder;

  /// Assigns one thread per block to each digit of a row, up to a subgroup. With more blocks, a digit gets the whole
  /// workgroup.
  RadixKernel run() {
    const MemoryHandle counts = buffer("counts", count_, scratch_.counts, BufferAccess::kReadWrite);
    const MemoryHandle totals = buffer("totals", count_, scratch_.totals, BufferAccess::kWrite);
    const SizePower threads = threads_for(blocks_, pass_.subgroup_size, kRadixThreads);
    const SizeExpr num_threads = rows_ * num_digits_ * threads.value;
    b_.set_num_groups(ceil_div(num_threads, kRadixThreads));
    has_spare_threads_ = num_threads.known_multiple() % kRadixThreads != 0;
    const PowerOfTwo width = threads.in_kernel(b_);
    WorkgroupScan scan = sums_of(width);
    const MachineValue place = b_.convert(DType::kI64, scan.place());
    const MachineValue number = b_.convert(DType::kI64, b_.shr(b_.thread_id(), log2_of(b_, width)));
    digit_ = b_.mul_add(b_.workgroup_id(), b_.size(floor_div(kRadixThreads, max(threads.value, 1))), number);
    const MachineValue zero = b_.constant_int(count_, 0), blocks = b_.size(blocks_), first = b_.mul(digit_, blocks);
    const auto sum =
        b_.for_loop(b_.i64(0), blocks, b_.size(max(threads.value, 1)), {zero}, [&](MachineValue at, const auto& sums) {
          const MachineValue block = b_.add(at, place), place_of_count = b_.add(first, block);
          const MachineValue is_block = if_digit(b_.lt(block, blocks));
          const MachineValue mine = b_.load_masked(counts, place_of_count, is_block, zero);
          scan.next_run();
          const ScannedValue scanned = scan.run(mine);
          when(b_, is_block, [&] { b_.store(counts, place_of_count, b_.add(sums[0], scanned.before)); });
          return MachineBuilder::Values{b_.add(sums[0], scanned.total)};
        });
    when(b_, if_digit(b_.eq(scan.place(), b_.i32(0))), [&] { b_.store(totals, digit_, sum[0]); });
    return finish();
  }

 private:
  /// If the last workgroup has spare threads, restricts `condition` to the threads that have a digit.
  MachineValue if_digit(MachineValue condition) {
    if (!has_spare_threads_) return condition;
    return b_.bit_and(condition, b_.lt(digit_, b_.size(rows_ * num_digits_)));
  }

  MachineValue digit_;  // index among the digits of all rows: i64
  bool has_spare_threads_ = false;
};

}  // namespace

DType radix_count_dtype(const SortDescriptor& sort) {
  const bool is_narrow =
      sort.input.type.shape[sort.axis].upper_bound() <= std::numeric_limits<std::int32_t>::max() - kRadixBlock;
  return is_narrow ? DType::kI32 : DType::kI64;
}

SizeExpr num_radix_blocks(const SortDescriptor& sort) {
  return ceil_div(sort.input.type.shape[sort.axis], kRadixBlock);
}

RadixKernel build_radix_count(const SortDescriptor& sort, const RadixPass& pass, const RadixScratch& scratch) {
  return CountBuilder("count", sort, pass, scratch).run();
}
RadixKernel build_radix_scan(const SortDescriptor& sort, const RadixPass& pass, const RadixScratch& scratch) {
  return ScanBuilder("scan", sort, pass, scratch).run();
}

}  // namespace millrace
