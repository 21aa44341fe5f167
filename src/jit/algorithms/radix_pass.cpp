// SPDX-License-Identifier: Apache-2.0
#include "jit/algorithms/radix_pass.h"

#include <limits>

#include "jit/algorithms/radix_pass_builder.h"

namespace millrace {
namespace {

class CountBuilder : RadixPassBuilder {
 public:
  using RadixPassBuilder::RadixPassBuilder;

  RadixKernel run() {
    read_elements();
    const MemoryHandle counts = buffer("counts", count_, scratch_.counts, false, true);
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

  /// A workgroup a digit of a row.
  RadixKernel run() {
    const MemoryHandle counts = buffer("counts", count_, scratch_.counts, true, true);
    const MemoryHandle totals = buffer("totals", count_, scratch_.totals, false, true);
    b_.set_num_groups(rows_ * num_digits_);
    const MachineValue zero = b_.constant_int(count_, 0), blocks = b_.size(blocks_);
    const MachineValue first = b_.mul(b_.workgroup_id(), blocks);
    WorkgroupScan scan = thread_sums();
    const auto sum =
        b_.for_loop(b_.i64(0), blocks, b_.i64(kRadixThreads), {zero}, [&](MachineValue at, const auto& sums) {
          const MachineValue block = b_.add(at, b_.convert(DType::kI64, b_.thread_id())), place = b_.add(first, block);
          const MachineValue is_block = b_.lt(block, blocks);
          const MachineValue mine = b_.load_masked(counts, place, is_block, zero);
          scan.next_run();
          const ScannedValue scanned = scan.run(mine);
          when(b_, is_block, [&] { b_.store(counts, place, b_.add(sums[0], scanned.before)); });
          return MachineBuilder::Values{b_.add(sums[0], scanned.total)};
        });
    when(b_, b_.eq(b_.thread_id(), b_.i32(0)), [&] { b_.store(totals, b_.workgroup_id(), sum[0]); });
    return finish();
  }
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
