// SPDX-License-Identifier: Apache-2.0
// Finds the k-th key of each row, one digit at a time.
#include "jit/algorithms/sort/radix_pass_builder.h"

namespace millrace {
namespace {

class SelectBuilder : RadixPassBuilder {
 public:
  using RadixPassBuilder::RadixPassBuilder;

  /// One workgroup per row.
  RadixKernel start() {
    bind_threshold(BufferAccess::kWrite);
    place_row();
    b_.store(totals_, row_digit(), zero());
    when(b_, b_.eq(b_.thread_id(), b_.i32(0)), [&] {
      b_.store(thresholds_, row_, b_.constant_int(key_, 0));
      const MachineValue rank = b_.max(b_.sub(b_.size(sort_.k), b_.i64(1)), b_.i64(0));
      b_.store(ranks_, place_of_rank(pass_.number), b_.convert(count_, rank));
    });
    return finish();
  }

  RadixKernel count() {
    read_elements();
    totals_ = buffer("totals", count_, scratch_.totals, BufferAccess::kReadWrite);
    const MemoryHandle of_block = count_block();
    const MachineValue count = b_.convert(count_, b_.load(of_block, b_.thread_id()));
    // After the first pass, most counts of a block are 0. Skipping them saves atomic operations.
    when(b_, b_.ne(count, zero()), [&] { b_.atomic(KernelOp::kAtomicAdd, totals_, row_digit(), count); });
    return finish();
  }

  /// One workgroup per row and one thread per digit. The thread whose digit is that of the k-th key stores it.
  RadixKernel digit() {
    bind_threshold(BufferAccess::kReadWrite);
    place_row();
    const MachineValue count = b_.load(totals_, row_digit());
    const MachineValue rank = b_.load(ranks_, place_of_rank(pass_.number + 1));
    b_.store(totals_, row_digit(), zero());
    const MachineValue before = thread_sums().run(count).before, rank_in_digit = b_.sub(rank, before);
    const MachineValue is_found = b_.bit_and(b_.le(before, rank), b_.lt(rank_in_digit, count));
    when(b_, is_found, [&] {
      const MachineValue low_bits = b_.constant_int(key_, 8 * static_cast<std::int64_t>(pass_.number));
      const MachineValue found = b_.shl(b_.convert(key_, b_.thread_id()), low_bits);
      b_.store(thresholds_, row_, b_.bit_or(b_.load(thresholds_, row_), found));
      b_.store(ranks_, place_of_rank(pass_.number), rank_in_digit);
    });
    return finish();
  }

 private:
  MachineValue zero() { return b_.constant_int(count_, 0); }
  void bind_threshold(BufferAccess access) {
    totals_ = buffer("totals", count_, scratch_.totals, access);
    thresholds_ = buffer("thresholds", key_, scratch_.thresholds, access);
    ranks_ = buffer("ranks", count_, scratch_.ranks, access);
  }
  /// The place of a row's rank after a pass. Barriers do not order accesses to buffers, so ranks are read and written
  /// at alternating places.
  MachineValue place_of_rank(unsigned number) { return b_.mul_add(row_, b_.i64(2), b_.i64(number % 2)); }
  void place_row() {
    b_.set_num_groups(rows_);
    row_ = b_.workgroup_id();
  }

  MemoryHandle totals_, ranks_;
  DType key_ = sort_key_dtype(sort_.input.type.dtype);
};

}  // namespace

RadixKernel build_select_start(const SortDescriptor& sort, const RadixPass& pass, const RadixScratch& scratch) {
  return SelectBuilder("select_start", sort, pass, scratch).start();
}
RadixKernel build_select_count(const SortDescriptor& sort, const RadixPass& pass, const RadixScratch& scratch) {
  return SelectBuilder("select_count", sort, pass, scratch).count();
}
RadixKernel build_select_digit(const SortDescriptor& sort, const RadixPass& pass, const RadixScratch& scratch) {
  return SelectBuilder("select_digit", sort, pass, scratch).digit();
}

}  // namespace millrace
